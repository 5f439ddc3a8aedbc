//! A soak test: many objects, failing calls, changing leaders, revoked access, and an operation that never ends.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use futures::StreamExt as _;
use futures::stream;
use k8s_openapi::api::coordination::v1::Lease;
use kube::api::{Api, ApiResource, DynamicObject, GroupVersionKind, ListParams};
use oraclecloud_emulator::{Operation, Outcome, Pace, Script, Timeline, TimelineRule};
use serde_json::{Value, json};
use testkit::seed;
use tokio::time::Instant;

use super::place::{Place, a_moment, condition, is_ready};
use super::process::Operator;

const FLAGS: &[&str] = &[
    "--leader-elect",
    "--lease-duration=4s",
    "--poll-interval=1s",
    "--create-grace=4s",
    "--slow-retry=2s",
    "--drift-interval=20s",
    "--operation-deadline=15s",
    "--oci-qps=2000",
];
/// The maximum number of concurrent requests of the test itself.
const AT_ONCE: usize = 8;
/// The percentage of calls that fail.
const BAD_WEATHER: u32 = 5;
const NEVER: &str = "never-ends";

struct Plan {
    objects: usize,
    leader_changes: usize,
    revoked: Duration,
    patience: Duration,
}

/// `cargo xtask soak` sets `PLIMSOLL_WHOLE`.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nothing_is_lost_under_faults() {
    let plan = if seed::is_whole() {
        Plan {
            objects: 500,
            leader_changes: 20,
            revoked: Duration::from_secs(60),
            patience: Duration::from_secs(280),
        }
    } else {
        Plan {
            objects: 40,
            leader_changes: 2,
            revoked: Duration::from_secs(5),
            patience: Duration::from_secs(120),
        }
    };
    let began = Instant::now();
    let place = Place::new("soak", script(), None).await;
    // The deployment grants the lease in its own namespace; here it is in that of the objects.
    let account = "--serviceaccount=plimsoll-system:plimsoll-operator";
    let grant = ["create", "rolebinding", "plimsoll-lease", "--clusterrole=plimsoll-lease", account];
    place.namespace.kubectl(&grant).unwrap();
    place.server.faults().inject_randomly(BAD_WEATHER, seed::choose("soak"));
    let soak = Soak { place: &place, plan: &plan };
    let working = async { tokio::join!(soak.change_leaders(), soak.ask_and_revoke()) };
    let ((leaders, mut peak), ()) = tokio::time::timeout(plan.patience, working).await.unwrap();
    let left = soak.until_settled(began + plan.patience, &leaders).await;
    soak.judge(&left);
    peak = leaders.iter().map(|operator| operator.memory().peak).fold(peak, u64::max);
    let faults = place.server.journal().entries().iter().filter(|entry| entry.fault.is_some()).count();
    say(&format!(
        "soak: {} objects, {} calls of which {faults} went wrong, {} writes, {} leader changes, {peak} kB at the peak, \
         {:.1} s",
        plan.objects,
        place.server.journal().entries().len(),
        place.writes().len(),
        plan.leader_changes,
        began.elapsed().as_secs_f64(),
    ));
}

/// Operations take a second, except one that never ends.
fn script() -> Script {
    let never = Timeline { outcome: Outcome::Never, ..Timeline::default() };
    let timelines = vec![TimelineRule {
        operation: Operation::CreateQueue,
        name: Some(NEVER.to_owned()),
        times: None,
        timeline: never,
    }];
    Script { pace: Pace::StepMillis(300), timelines, ..Script::default() }
}

struct Soak<'a> {
    place: &'a Place,
    plan: &'a Plan,
}

impl Soak<'_> {
    /// Two operators compete; the leader is killed or stopped, and a new one starts. Those that are left,
    /// and the most memory that any of the others took, in kB.
    async fn change_leaders(&self) -> (Vec<Operator>, u64) {
        let mut peak = 0;
        let mut operators = vec![self.place.operator(FLAGS)];
        let mut holder = self.next_holder("").await;
        for change in 0..self.plan.leader_changes {
            operators.push(self.place.operator(FLAGS));
            let leader = operators.remove(0);
            peak = peak.max(leader.memory().peak);
            if change.is_multiple_of(2) {
                leader.kill();
            } else {
                tokio::task::block_in_place(|| leader.end());
            }
            holder = self.next_holder(&holder).await;
        }
        (operators, peak)
    }

    /// Waits for a leader other than `before`.
    async fn next_holder(&self, before: &str) -> String {
        let api =
            Api::<Lease>::namespaced(self.place.namespace.client().clone(), self.place.namespace.name());
        loop {
            let lease = api.get_opt("plimsoll-operator").await.unwrap();
            let holder = lease.and_then(|lease| lease.spec?.holder_identity).unwrap_or_default();
            if !holder.is_empty() && holder != before {
                return holder;
            }
            a_moment().await;
        }
    }

    /// Creates all objects, changes most, deletes some, and revokes access for a while in between.
    async fn ask_and_revoke(&self) {
        let namespace = &self.place.namespace;
        namespace.apply_as("person", &self.place.queue(NEVER)).await;
        self.each(|object, _| async move {
            namespace.apply_as("person", &object).await;
        })
        .await;
        // The objects that are changed and deleted next exist, but not all of them have been observed.
        while self.place.living().len() < self.plan.objects {
            a_moment().await;
        }
        let revoking = async {
            self.place.server.revoke(self.place.server.compartment());
            tokio::time::sleep(self.plan.revoked).await;
            self.place.server.grant(self.place.server.compartment());
        };
        let changing = self.each(|object, number| async move {
            if is_deleted(number) {
                let api = self.api_of(&object);
                let name = object["metadata"]["name"].as_str().unwrap();
                api.delete(name, &kube::api::DeleteParams::default()).await.unwrap();
            } else if number.is_multiple_of(3) {
                let change = json!({"spec": {"freeformTags": {"round": "2"}}});
                namespace.merge_as("person", &object, &change).await;
            }
        });
        tokio::join!(revoking, changing);
    }

    async fn each<F: Future<Output = ()>>(&self, act: impl Fn(Value, usize) -> F) {
        let objects = (0..self.plan.objects).map(|number| {
            let name = format!("object-{number}");
            let object =
                if number.is_multiple_of(2) { self.place.queue(&name) } else { self.place.stream(&name) };
            act(object, number)
        });
        stream::iter(objects).buffer_unordered(AT_ONCE).collect::<Vec<()>>().await;
    }

    fn api_of(&self, object: &Value) -> Api<DynamicObject> {
        let group = if object["kind"] == "Queue" { "queue.oracle.com" } else { "streaming.oracle.com" };
        let gvk = GroupVersionKind::gvk(group, "v1beta1", object["kind"].as_str().unwrap());
        let resource = ApiResource::from_gvk(&gvk);
        let namespace = &self.place.namespace;
        Api::namespaced_with(namespace.client().clone(), namespace.name(), &resource)
    }

    /// The remaining objects, once all of them have settled.
    async fn until_settled(&self, deadline: Instant, operators: &[Operator]) -> Vec<Value> {
        loop {
            let mut objects = Vec::new();
            for kind in [json!({"kind": "Queue"}), json!({"kind": "Stream"})] {
                let listed = self.api_of(&kind).list(&ListParams::default()).await.unwrap();
                objects.extend(listed.items.iter().map(|object| serde_json::to_value(object).unwrap()));
            }
            let unsettled: Vec<&Value> = objects.iter().filter(|object| !is_settled(object)).collect();
            if unsettled.is_empty() && objects.len() == self.plan.objects - self.plan.objects.div_ceil(5) + 1
            {
                return objects;
            }
            assert!(
                Instant::now() < deadline,
                "{} objects of {} are not settled, such as {:#}\n{}",
                unsettled.len(),
                objects.len(),
                unsettled.first().copied().unwrap_or(&Value::Null),
                operators.iter().map(Operator::last_words).collect::<Vec<_>>().join("\n"),
            );
            tokio::time::sleep(Duration::from_millis(500)).await;
        }
    }

    /// No orphans, no duplicates, a resource or a cause for every object, and no growing lists of conditions.
    fn judge(&self, objects: &[Value]) {
        let mut owners: BTreeMap<String, usize> = BTreeMap::new();
        for resource in self.place.living() {
            let owner = resource["freeformTags"]["plimsoll-uid"].as_str().unwrap_or("no owner").to_owned();
            *owners.entry(owner).or_default() += 1;
        }
        let known: BTreeSet<&str> = objects.iter().filter_map(|it| it["metadata"]["uid"].as_str()).collect();
        for (owner, count) in &owners {
            assert!(known.contains(owner.as_str()), "an orphan of {owner}");
            assert_eq!(*count, 1, "duplicates of {owner}");
        }
        for object in objects {
            let name = object["metadata"]["name"].as_str().unwrap();
            let uid = object["metadata"]["uid"].as_str().unwrap();
            assert!(owners.contains_key(uid), "{name} has no resource");
            for pointer in ["/status/conditions", "/status/status/conditions"] {
                let entries = object.pointer(pointer).and_then(Value::as_array).unwrap();
                let types: BTreeSet<&str> =
                    entries.iter().filter_map(|entry| entry["type"].as_str()).collect();
                assert_eq!(types.len(), entries.len(), "{name}: {entries:?}");
            }
        }
    }
}

/// Every fifth object is deleted halfway.
const fn is_deleted(number: usize) -> bool {
    number.is_multiple_of(5)
}

/// Ready, or past the deadline if its operation never ends, and not being deleted.
fn is_settled(object: &Value) -> bool {
    let stalled = condition(object, "Stalled");
    let is_overdue = stalled["status"] == "True"
        && stalled["reason"] == "DeadlineExceeded"
        && stalled["message"].as_str().is_some_and(|it| !it.is_empty());
    // Only the operation that never ends stays stalled. While access is revoked, it stalls for that reason instead.
    let never_ends = object["metadata"]["name"] == NEVER;
    object["metadata"].get("deletionTimestamp").is_none() && (is_ready(object) || (never_ends && is_overdue))
}

/// A line for manual runs.
#[expect(clippy::print_stderr, reason = "the only way for a test to say what it measured")]
fn say(line: &str) {
    eprintln!("{line}");
}
