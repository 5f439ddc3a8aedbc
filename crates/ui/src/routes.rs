//! The routes: a page for every view, its events below `/live`, and the data behind it below `/api`.

use std::sync::Arc;

use axum::Router;
use axum::extract::{DefaultBodyLimit, Request, State};
use axum::http::header::CONTENT_TYPE;
use axum::http::{HeaderMap, StatusCode, Uri};
use axum::middleware;
use axum::response::{Html, IntoResponse, Response};
use axum::routing::get;
use diag::Diagnostic;
use serde_json::{Value, json};

use crate::access::{self, Access};
use crate::hub::{Hub, Snapshot};
use crate::live;
use crate::path::Target;
use crate::source::Question;
use crate::views::{self, View};

const SCRIPT: &str = include_str!("../assets/page.js");
const STYLE: &str = include_str!("../assets/page.css");
const ICON: &str = include_str!("../assets/icon.svg");
/// The longest manifest that can be pasted.
const MOST_BYTES: usize = 4 << 20;

pub(crate) struct App {
    pub(crate) hub: Hub,
    pub(crate) cluster: String,
    pub(crate) has_files: bool,
}

pub(crate) fn router(app: App, access: Arc<Access>) -> Router {
    let asset = |kind: &'static str, text: &'static str| get(async move || ([(CONTENT_TYPE, kind)], text));
    Router::new()
        .route("/assets/page.js", asset("text/javascript; charset=utf-8", SCRIPT))
        .route("/assets/page.css", asset("text/css; charset=utf-8", STYLE))
        .route("/assets/icon.svg", asset("image/svg+xml", ICON))
        .route("/plan", get(page).post(plan))
        .route("/api/plan", get(data).post(plan_data).layer(DefaultBodyLimit::max(MOST_BYTES)))
        .route("/api/{*path}", get(data))
        .route("/live/{*path}", get(events))
        .route("/live/", get(events))
        .fallback(get(page))
        .with_state(Arc::new(app))
        .layer(middleware::from_fn_with_state(access, access::check))
}

async fn page(State(app): State<Arc<App>>, uri: Uri) -> Response {
    let Some(view) = View::parse(uri.path(), uri.query(), app.has_files) else {
        return (StatusCode::NOT_FOUND, views::lost(&app.cluster)).into_response();
    };
    show(&app, &view, &uri).await
}

async fn show(app: &App, view: &View, uri: &Uri) -> Response {
    let snapshot = match view.question() {
        Some(question) => app.hub.ask(question).await,
        None => Snapshot::default(),
    };
    let html = views::page(view, &app.cluster, uri, snapshot.version, snapshot.answer.as_deref());
    (status(&snapshot), Html(html)).into_response()
}

async fn events(State(app): State<Arc<App>>, uri: Uri, headers: HeaderMap) -> Response {
    let path = uri.path().strip_prefix("/live").unwrap_or_default();
    let view = View::parse(path, uri.query(), app.has_files).filter(View::is_live);
    let Some((question, view)) = view.and_then(|view| Some((view.question()?, view))) else {
        return StatusCode::NOT_FOUND.into_response();
    };
    // A browser that reconnects says what it has seen last; at first, the page does.
    let resumed = headers.get("last-event-id").and_then(|id| id.to_str().ok()?.parse().ok());
    let since = resumed.or_else(|| views::parameter(uri.query(), "since")?.parse().ok()).unwrap_or(0);
    live::events(view, app.hub.follow(question).await, since)
}

/// The JSON that the command of this name prints.
async fn data(State(app): State<Arc<App>>, uri: Uri) -> Response {
    let segments: Vec<&str> = uri.path().split('/').skip(2).collect();
    let (question, part) = match segments[..] {
        ["search"] => {
            let text = views::parameter(uri.query(), "q").unwrap_or_default();
            (Question::Search(text), None)
        }
        ["operations"] => (Question::Operations, Some("operations")),
        ["plan"] => (Question::Plan(None), None),
        [part @ ("tree" | "why" | "owners" | "object"), ref object @ ..] => {
            let Some(target) = Target::parse(object) else { return StatusCode::NOT_FOUND.into_response() };
            (Question::Object(target), Some(part).filter(|part| *part != "object"))
        }
        _ => return StatusCode::NOT_FOUND.into_response(),
    };
    reply(&app, question, part).await
}

async fn plan(State(app): State<Arc<App>>, uri: Uri, request: Request) -> Response {
    let body = match axum::body::to_bytes(request.into_body(), MOST_BYTES).await {
        Ok(body) => body,
        Err(error) => return (StatusCode::PAYLOAD_TOO_LARGE, error.to_string()).into_response(),
    };
    let written = form_urlencoded::parse(&body).find(|(key, _)| key == "manifest");
    let text = written.map(|(_, text)| text.into_owned()).unwrap_or_default();
    show(&app, &View::Plan { text: Some(text), has_files: app.has_files }, &uri).await
}

async fn plan_data(State(app): State<Arc<App>>, body: String) -> Response {
    reply(&app, Question::Plan(Some(body)), None).await
}

async fn reply(app: &App, question: Question, part: Option<&str>) -> Response {
    let snapshot = app.hub.ask(question).await;
    let value = match snapshot.answer.as_deref() {
        Some(Ok(answer)) => part.map_or(answer, |part| &answer[part]).clone(),
        Some(Err(why)) => described(why),
        None => Value::Null,
    };
    let headers = [(CONTENT_TYPE, "application/json")];
    (status(&snapshot), headers, format!("{value:#}\n")).into_response()
}

fn status(snapshot: &Snapshot) -> StatusCode {
    match snapshot.answer.as_deref() {
        Some(Err(why)) if views::is_absence(why) => StatusCode::NOT_FOUND,
        Some(Err(_)) => StatusCode::BAD_GATEWAY,
        Some(Ok(_)) | None => StatusCode::OK,
    }
}

fn described(diagnostic: &Diagnostic) -> Value {
    json!({
        "severity": diagnostic.severity.word(),
        "code": diagnostic.code.name(),
        "summary": diagnostic.summary,
        "detail": diagnostic.detail,
        "hint": diagnostic.hint,
    })
}

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
    use tokio::net::{TcpListener, TcpStream};
    use tokio::task::LocalSet;

    use super::*;
    use crate::access::Token;
    use crate::source::{Answer, Source};

    /// Says how long a pasted manifest is.
    struct Length;

    impl Source for Length {
        async fn follow(&self, question: &Question, publish: &dyn Fn(Answer)) {
            let Question::Plan(Some(text)) = question else { return };
            publish(Ok(json!({ "length": text.len() })));
        }
    }

    #[tokio::test]
    async fn programs_may_send_as_much_as_the_page() {
        let work = async {
            let (token, listener) = (Token::random(), TcpListener::bind("127.0.0.1:0").await.unwrap());
            let address = listener.local_addr().unwrap();
            let cookie = format!("plimsoll-{}={}", address.port(), token.reveal());
            let app = App { hub: Hub::start(Length), cluster: String::new(), has_files: false };
            let router = router(app, Access::new(token, address.port(), Vec::new()));
            tokio::task::spawn_local(async move { axum::serve(listener, router).await });
            for (length, status) in [(MOST_BYTES, "200"), (MOST_BYTES + 1, "413")] {
                let head = format!(
                    "POST /api/plan HTTP/1.1\r\nHost: {address}\r\nCookie: {cookie}\r\nContent-Length: {length}\r\n\
                     Connection: close\r\n\r\n"
                );
                let mut stream = TcpStream::connect(address).await.unwrap();
                stream.write_all(head.as_bytes()).await.unwrap();
                // A refusal may come before everything is sent.
                let _sent = stream.write_all(&vec![b' '; length]).await;
                let mut answer = Vec::new();
                let _read = stream.read_to_end(&mut answer).await;
                let answer = String::from_utf8(answer).unwrap();
                assert_eq!(answer.split(' ').nth(1), Some(status), "{length}: {answer}");
            }
        };
        LocalSet::new().run_until(work).await;
    }
}
