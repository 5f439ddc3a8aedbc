//! The page that `plimsoll ui` serves: what the commands print, in a browser, live.
//!
//! The page decides nothing. It asks a [`Source`] questions, and each answer is the JSON of a command: `/api` passes it on,
//! the views render it as HTML, and a browser that has a view open gets it again after every change.
//!
//! ```text
//! browser ──▶ access (host, token) ──▶ routes ──▶ hub ──▶ Source::follow
//!    ▲                                   │         └─ one per question, while a page looks
//!    └── HTML, then HTML by events ◀── views ◀── Answer
//! ```

mod access;
mod hub;
mod live;
mod path;
mod routes;
mod source;
mod views;

use std::io;
use std::net::SocketAddr;

use tokio::net::TcpListener;

pub use access::Token;
pub use path::Target;
pub use source::{Answer, Question, Source};

use access::Access;
use hub::Hub;
use routes::App;

/// How the page is served.
pub struct Options {
    /// Port 0 means any free port.
    pub listen: SocketAddr,
    /// Host names that browsers may use for this server, besides `localhost` and addresses.
    pub hosts: Vec<String>,
    /// Which cluster the page shows, for its header.
    pub cluster: String,
    /// Whether the source has files to plan.
    pub has_files: bool,
}

/// A server that listens and does not serve yet.
pub struct Server {
    listener: TcpListener,
    token: Token,
    options: Options,
}

impl Server {
    pub async fn bind(mut options: Options) -> io::Result<Self> {
        let listener = TcpListener::bind(options.listen).await?;
        options.listen = listener.local_addr()?;
        Ok(Self { listener, token: Token::random(), options })
    }

    /// The address to open in a browser. It contains the token.
    pub fn url(&self) -> String {
        format!("http://{}/?token={}", self.options.listen, self.token.reveal())
    }

    /// Serves the page until it is dropped. Must run in a [`tokio::task::LocalSet`], where the source is asked.
    pub async fn serve(self, source: impl Source) -> io::Result<()> {
        let Self { listener, token, options } = self;
        let access = Access::new(token, options.listen.port(), options.hosts);
        let app = App { hub: Hub::start(source), cluster: options.cluster, has_files: options.has_files };
        axum::serve(listener, routes::router(app, access)).await
    }
}
