//! What classifying a field costs in a very large object, compared with a hundred small ones of as many fields in all.

use bench::{Outcome, Role, Run, compare};
use manifest::secret::MaskKey;
use ownership::{Analysis, Baseline, Desired, FieldManager, Observed, Prior};
use serde_json::{Map, Value, json};

const MANAGER: &str = "k8sconnect";
const SMALL: usize = 1_000;
const LARGE: usize = 100_000;

fn main() -> Outcome<()> {
    let mut run = Run::begin()?;
    let small: Vec<Case> = (0..LARGE / SMALL).map(|_| Case::new(SMALL)).collect();
    let large = Case::new(LARGE);
    let analyse = || small.iter().map(Case::analyse).collect::<Vec<_>>();
    let yardstick = ("100 objects of 1,000", Role::Yardstick, analyse);
    compare(&mut run, "classifying 100,000 fields of one object", 1.3, yardstick, || large.analyse())?;
    run.end()
}

/// A ConfigMap in which another manager changed every tenth key since our last apply.
struct Case {
    written: Value,
    baseline: Baseline,
    live: Observed,
    planned: Observed,
}

impl Case {
    fn new(fields: usize) -> Self {
        let planned = config_map(fields, |_| "ours", &[(MANAGER, 1)]);
        let live = config_map(
            fields,
            |number| if number % 10 == 0 { "theirs" } else { "ours" },
            &[(MANAGER, 1), ("kubectl-edit", 10)],
        );
        let mut written = planned.clone();
        written["metadata"].as_object_mut().expect("metadata is an object").remove("managedFields");
        let [planned, live] =
            [planned, live].map(|object| Observed::new(object).expect("we wrote the managedFields"));
        let manager = FieldManager::new(MANAGER);
        let baseline = Baseline::record(&planned, &Desired::new(&manager, &written), &MaskKey::FORMER);
        Self { written, baseline, live, planned }
    }

    fn analyse(&self) -> Analysis {
        let manager = FieldManager::new(MANAGER);
        let prior = Prior::Applied { written: &self.written, baseline: &self.baseline };
        Analysis::new(
            &Desired::new(&manager, &self.written),
            prior,
            &self.live,
            &self.planned,
            &MaskKey::FORMER,
        )
    }
}

/// A ConfigMap with `fields` keys; each manager holds every n-th of them.
fn config_map(fields: usize, value: impl Fn(usize) -> &'static str, managers: &[(&str, usize)]) -> Value {
    let key = |number: usize| format!("key-{number:06}");
    let data: Map<String, Value> = (0..fields).map(|number| (key(number), value(number).into())).collect();
    let entries: Vec<Value> = managers
        .iter()
        .map(|(manager, every)| {
            let held: Map<String, Value> =
                (0..fields).step_by(*every).map(|number| (format!("f:{}", key(number)), json!({}))).collect();
            json!({
                "manager": manager, "operation": "Apply", "apiVersion": "v1", "fieldsType": "FieldsV1",
                "fieldsV1": { "f:data": held },
            })
        })
        .collect();
    json!({
        "apiVersion": "v1", "kind": "ConfigMap",
        "metadata": { "name": "large", "managedFields": entries },
        "data": data,
    })
}
