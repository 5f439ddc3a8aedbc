//! Annotated Functions report whether they can be reached.

use functions::{RunRequest, response};

use crate::fixture::{apply, condition, condition_line, function, group, is_true, session, until, world};

#[tokio::test]
async fn an_annotated_function_is_healthy_while_it_can_be_reached() {
    let (session, group) = (session(), group("health"));
    let name = format!("function-{}", group.split('.').next().unwrap());
    let served = world().serve(|request: RunRequest| async move { Ok(response::to(&request)) });
    let endpoint = served.endpoint.clone();
    let object = apply(&session, &function(&name, &endpoint)).await;
    let healthy = until(&session, &object, "it is healthy", |object| is_true(object, "Healthy")).await;
    assert_eq!(condition_line(&healthy, "Installed"), "Installed=True ActivePackageRevision");
    assert_eq!(condition_line(&healthy, "Healthy"), "Healthy=True HealthyPackageRevision");
    // An endpoint without a listener.
    let moved = apply(&session, &function(&name, "127.0.0.1:1")).await;
    let ill = until(&session, &moved, "it is not healthy", |object| {
        condition(object, "Healthy").is_some_and(|healthy| healthy["status"] == "False")
    })
    .await;
    assert_eq!(condition_line(&ill, "Healthy"), "Healthy=False UnhealthyPackageRevision");
    let back = apply(&session, &function(&name, &endpoint)).await;
    until(&session, &back, "it is healthy", |object| is_true(object, "Healthy")).await;
}
