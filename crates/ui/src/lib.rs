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
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

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
        let place = place(self.options.listen, self.options.hosts.first().map(String::as_str));
        format!("http://{place}/?token={}", self.token.reveal())
    }

    /// Serves the page until it is dropped. Must run in a [`tokio::task::LocalSet`], where the source is asked.
    pub async fn serve(self, source: impl Source) -> io::Result<()> {
        let Self { listener, token, options } = self;
        let access = Access::new(token, options.listen.port(), options.hosts);
        let app = App { hub: Hub::start(source), cluster: options.cluster, has_files: options.has_files };
        axum::serve(listener, routes::router(app, access)).await
    }
}

/// Host and port for a browser on this machine if only that can connect, and else the name that browsers are meant to use. The
/// address that stands for all addresses cannot be opened.
fn place(listen: SocketAddr, host: Option<&str>) -> String {
    let port = listen.port();
    match (host, listen.ip()) {
        (Some(host), ip) if !ip.is_loopback() => format!("{host}:{port}"),
        (_, IpAddr::V4(ip)) if ip.is_unspecified() => {
            SocketAddr::from((Ipv4Addr::LOCALHOST, port)).to_string()
        }
        (_, IpAddr::V6(ip)) if ip.is_unspecified() => {
            SocketAddr::from((Ipv6Addr::LOCALHOST, port)).to_string()
        }
        _ => listen.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::place;

    #[test]
    fn the_printed_address_can_be_opened() {
        let check = |listen: &str, host: Option<&str>, expected: &str| {
            assert_eq!(place(listen.parse().unwrap(), host), expected, "{listen} {host:?}");
        };
        check("127.0.0.1:8080", None, "127.0.0.1:8080");
        check("10.0.0.7:8080", None, "10.0.0.7:8080");
        check("0.0.0.0:8080", None, "127.0.0.1:8080");
        check("[::]:8080", None, "[::1]:8080");
        check("0.0.0.0:8080", Some("ops.example.org"), "ops.example.org:8080");
        // A proxy or a tunnel has that name, at a port of its own.
        check("127.0.0.1:8080", Some("ops.example.org"), "127.0.0.1:8080");
    }
}
