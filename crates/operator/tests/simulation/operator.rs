//! The operator under test: the real controllers on the real runtime, with a simulated API server and function.

use std::convert::Infallible;
use std::sync::Arc;

use bytes::Bytes;
use cluster::{Connection, Session};
use futures::stream;
use http::Request as HttpRequest;
use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt as _, Full, StreamBody};
use hyper::body::Frame;
use kube::client::Body;
use operator::runtime::events::Events;
use operator::runtime::leadership::Leadership;
use operator::runtime::metrics::Metrics;
use operator::{Context, Options, composition};
use tokio::task::JoinHandle;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use crate::function::SimulatedFunction;
use crate::network::{Life, Network, Reply};
use crate::request::Request;

/// A running operator.
pub(crate) struct Operator {
    pub(crate) client: usize,
    task: JoinHandle<()>,
    leadership: Leadership,
    stop: CancellationToken,
}

impl Operator {
    pub(crate) fn start(network: &Arc<Network>) -> Self {
        let (client, clock) = {
            let mut world = network.lock();
            world.lives.push(Life::Alive);
            let client = world.lives.len() - 1;
            world.note(format_args!("operator {client} starts"));
            (client, world.clock.clone())
        };
        let session = Session::new(api(Arc::clone(network), client));
        let metrics = Metrics::new();
        let instance = format!("operator-{client}");
        let events = Events::start_with_clock(session.client().clone(), instance, metrics.clone(), clock);
        let function = SimulatedFunction { network: Arc::clone(network), client };
        let leadership = Leadership::default();
        let context = Context {
            functions: Some(Arc::new(function)),
            leadership: leadership.clone(),
            ..Context::new(session, events, metrics, Options::on(Connection::default()))
        };
        let stop = CancellationToken::new();
        let task = tokio::spawn(composition::run(context, stop.clone()));
        Self { client, task, leadership, stop }
    }

    /// The process stands still. Whatever it does next, it does when it thaws, and then its lease has expired.
    pub(crate) fn freeze(&self, network: &Network) {
        network.lock().lives[self.client] = Life::Frozen;
        self.leadership.ends(Instant::now());
    }

    /// The process ends: nothing it does from now on reaches anything.
    pub(crate) fn kill(self, network: &Network) {
        network.lock().lives[self.client] = Life::Dead;
        self.task.abort();
        self.stop.cancel();
    }
}

/// A client whose connection is the simulated network.
fn api(network: Arc<Network>, client: usize) -> kube::Client {
    let service = tower::service_fn(move |request: HttpRequest<Body>| {
        let network = Arc::clone(&network);
        async move {
            let (parts, body) = request.into_parts();
            let body = body.collect_bytes().await.map_err(std::io::Error::other)?;
            match network.send(client, Request::new(&parts, &body)).await {
                Reply::Answer { code, body } => {
                    let text =
                        if body.is_null() { "404 page not found\n".to_owned() } else { body.to_string() };
                    let body = Full::new(Bytes::from(text)).boxed_unsync();
                    Ok(http::Response::builder().status(code).body(body).expect("a valid response"))
                }
                Reply::Stream(lines) => {
                    let next = |mut lines: tokio::sync::mpsc::UnboundedReceiver<Bytes>| async {
                        let line = lines.recv().await?;
                        Some((Ok::<_, Infallible>(Frame::data(line)), lines))
                    };
                    let body: UnsyncBoxBody<Bytes, Infallible> =
                        StreamBody::new(stream::unfold(lines, next)).boxed_unsync();
                    Ok(http::Response::new(body))
                }
                Reply::Broken => Err(std::io::Error::from(std::io::ErrorKind::ConnectionReset)),
            }
        }
    });
    kube::Client::new(service, "default")
}
