//! The applies of a subject's objects without anything around them.

use std::fs;
use std::time::{Duration, Instant};

use bench::{Outcome, bare};
use bytes::Bytes;
use diag::Source;
use futures::{StreamExt as _, stream};
use manifest::Limits;

use super::subject::Subject;

/// How many requests `plimsoll apply` has in flight.
const IN_FLIGHT: usize = 16;

/// How long it takes to send every object of `subject`, which is new, and to hear the answers.
pub(crate) fn apply(subject: &Subject) -> Outcome<Duration> {
    let requests = requests(subject)?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(async {
        let client = bare::connect(&kube::Config::infer().await?)?;
        let began = Instant::now();
        let sent = requests.iter().map(|(path, body)| client.apply(path, body.clone()));
        stream::iter(sent).buffer_unordered(IN_FLIGHT).count().await;
        Ok(began.elapsed())
    })
}

/// Path and body of each.
fn requests(subject: &Subject) -> Outcome<Vec<(String, Bytes)>> {
    let source = Source::new("objects.yaml", fs::read_to_string(&subject.file)?);
    let mut requests = Vec::new();
    for document in manifest::read(&source, &Limits::default()).documents {
        let document = document.map_err(|broken| format!("{:?}", broken.problems))?;
        for object in manifest::objects(&document).map_err(|problems| format!("{problems:?}"))? {
            let collection = match object.gvk.kind() {
                "Deployment" => "apis/apps/v1/namespaces",
                _ => "api/v1/namespaces",
            };
            let plural = format!("{}s", object.gvk.kind().to_lowercase());
            let name = object.value["metadata"]["name"].as_str().unwrap_or_default();
            let path = format!("/{collection}/{}/{plural}/{name}", subject.namespace);
            let query = "fieldManager=bare&fieldValidation=Strict";
            requests.push((format!("{path}?{query}"), Bytes::from(object.value.to_string())));
        }
    }
    Ok(requests)
}
