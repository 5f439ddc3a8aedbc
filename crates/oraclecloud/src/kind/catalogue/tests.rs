use super::*;

#[test]
fn every_embedded_service_can_be_read() {
    for embedded in Embedded::all() {
        let names: Vec<&str> = embedded.read().kinds.iter().map(|kind| kind.name.as_str()).collect();
        let listed: Vec<&str> = embedded.kinds.iter().map(|(name, _)| *name).collect();
        assert_eq!(names, listed, "{}", embedded.service);
    }
}

#[test]
fn a_pattern_names_kinds_of_a_service() {
    let check = |text: &str, expected: &[&str]| {
        let found = Catalogue::matching(&[text.parse().unwrap()]);
        let found: Vec<String> = found.kinds().iter().map(|kind| kind.path()).collect();
        assert_eq!(found, expected, "{text}");
    };
    check("queue/Queue", &["queue/Queue"]);
    check("queue/*", &["queue/Queue"]);
    check("Queue", &["queue/Queue"]);
}

#[test]
fn a_description_that_cannot_be_served_is_refused_with_the_reason() {
    let text = include_str!("../../../kinds/streaming.json");
    let check = |from: &str, to: &str, expected: &str| {
        let error = Service::read(&text.replace(from, to)).unwrap_err().to_string();
        assert!(error.contains(expected), "{from} → {to}: {error}");
    };
    check("\"bareList\": true,", "\"barelist\": true,", "unknown field `barelist`");
    check("integer required", "whole required", "`whole` is neither a type nor the name of a model");
    check(
        "\"is\": \"integer\", \"minimum\": 24",
        "\"is\": \"Hours\", \"minimum\": 24",
        "Stream: there is no model Hours",
    );
    check("POST /streams", "/streams", "is not a call such as");
    check("[\"streamPoolId\"]]", "[\"poolId\"]]", "Stream: scope or exclusive names the field poolId");
    check("\"freeformTags\"", "\"tags\"", "Stream: it takes no freeformTags");
    check(
        "\"nsgIds\": \"string[]\"",
        "\"nsgIds\": \"PrivateEndpointDetails[]\"",
        "contains itself; write any where it does",
    );
    check("\"CREATING\": \"creating\"", "\"CREATING\": \"early\"", "`early` is not a known state meaning");
    let mut queues: serde_json::Value =
        serde_json::from_str(include_str!("../../../kinds/queue.json")).unwrap();
    queues.as_object_mut().unwrap().remove("workRequests");
    let error = Service::read(&queues.to_string()).unwrap_err().to_string();
    assert_eq!(error, "Queue: its service describes no workRequests");
}
