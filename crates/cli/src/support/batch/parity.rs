//! The CLI and the Terraform provider plan alike: the same written, prior and observed objects give the same changes,
//! the same managers and the same diagnostics.

use std::collections::{BTreeMap, BTreeSet};

use cluster::Reply;
use fields::{Positions, Schema};
use manifest::Namespace;
use manifest::secret::MaskKey;
use ownership::{Baseline, Desired, FieldManager, FieldTransition};
use plan::{FieldChange, Intervention, LastAnswer, question};
use proptest::prelude::*;
use provider::parity::{self, LastApply};
use serde_json::{Value, json};

use super::*;
use crate::args::plan::LeaveArgs;
use crate::support::report::{Action, ObjectState};

/// The manager of `k8sconnect_object`.
const US: &str = "k8sconnect";
const MANAGERS: [&str; 3] = [US, "hpa", "kubectl-edit"];

/// A kind, and the fields of it that are written: as a path in FieldsV1, with the values it may have.
struct Kind {
    api_version: &'static str,
    name: &'static str,
    fields: &'static [(&'static [&'static str], &'static [&'static str])],
}

const APP: &str = r#"k:{"name":"app"}"#;
const SIDECAR: &str = r#"k:{"name":"sidecar"}"#;
const KINDS: [Kind; 3] = [
    Kind {
        api_version: "v1",
        name: "ConfigMap",
        fields: &[
            (&["f:data", "f:a"], &["\"1\"", "\"2\"", "\"x\""]),
            (&["f:data", "f:b.conf"], &["\"1\"", "\"2\"", "\"x\""]),
            (&["f:data", "f:c"], &["\"1\"", "\"2\"", "\"x\""]),
            (&["f:metadata", "f:labels", "f:app"], &["\"web\"", "\"shop\"", "\"x\""]),
        ],
    },
    Kind {
        api_version: "v1",
        name: "Secret",
        fields: &[
            (&["f:data", "f:a"], &["\"MQ==\"", "\"Mg==\"", "\"eA==\""]),
            (&["f:data", "f:b.conf"], &["\"MQ==\"", "\"Mg==\"", "\"eA==\""]),
            (&["f:type"], &["\"Opaque\"", "\"a\"", "\"b\""]),
        ],
    },
    Kind {
        api_version: "apps/v1",
        name: "Deployment",
        fields: &[
            (&["f:spec", "f:replicas"], &["1", "2", "3"]),
            (&["f:spec", "f:paused"], &["true", "false", "true"]),
            (
                &["f:spec", "f:template", "f:spec", "f:containers", APP, "f:image"],
                &["\"a:1\"", "\"a:2\"", "\"a:3\""],
            ),
            (
                &["f:spec", "f:template", "f:spec", "f:containers", APP, "f:args"],
                &["[\"x\"]", "[\"y\"]", "[\"x\",\"y\"]"],
            ),
            (
                &["f:spec", "f:template", "f:spec", "f:containers", SIDECAR, "f:image"],
                &["\"s:1\"", "\"s:2\"", "\"s:3\""],
            ),
        ],
    },
];

/// The written fields by their index in [`Kind::fields`], each with the index of its value.
type Data = BTreeMap<usize, usize>;

/// An object, and the fields that each manager holds.
#[derive(Clone, Debug)]
struct State {
    data: Data,
    held: BTreeMap<&'static str, BTreeSet<usize>>,
}

impl Kind {
    fn body(&self, data: &Data) -> Value {
        let mut body = json!({
            "apiVersion": self.api_version, "kind": self.name, "metadata": { "name": "a", "namespace": "shop" },
        });
        for (field, value) in data {
            let (path, values) = self.fields[*field];
            *place(&mut body, path) = serde_json::from_str(values[*value]).unwrap();
        }
        body
    }

    fn object(&self, state: &State) -> Value {
        let entry = |(manager, fields): (&&str, &BTreeSet<usize>)| {
            let mut set = json!({});
            for field in fields {
                let mut at = &mut set;
                for step in self.fields[*field].0 {
                    at = &mut at[*step];
                    if step.starts_with("k:") {
                        at["."] = json!({});
                        at["f:name"] = json!({});
                    }
                }
                *at = json!({});
            }
            json!({
                "manager": manager, "operation": if *manager == US { "Apply" } else { "Update" },
                "apiVersion": self.api_version, "fieldsType": "FieldsV1", "fieldsV1": set,
            })
        };
        let mut object = self.body(&state.data);
        let held = state.held.iter().filter(|(_, fields)| !fields.is_empty());
        object["metadata"]["managedFields"] = held.map(entry).collect();
        object
    }

    fn states(&'static self) -> impl Strategy<Value = State> {
        let held = prop::collection::btree_map(
            prop::sample::select(&MANAGERS[..]),
            prop::collection::btree_set(0..self.fields.len(), 0..=self.fields.len()),
            0..=MANAGERS.len(),
        );
        (self.data(), held).prop_map(|(data, mut held)| {
            for fields in held.values_mut() {
                fields.retain(|field| data.contains_key(field));
            }
            State { data, held }
        })
    }

    /// Whether `written` has every list item of the kind.
    fn writes_all_items(&self, written: &Data) -> bool {
        let item = |field: usize| self.fields[field].0.iter().find(|step| step.starts_with("k:"));
        let items: BTreeSet<_> = (0..self.fields.len()).filter_map(item).collect();
        items.len() == written.keys().filter_map(|field| item(*field)).collect::<BTreeSet<_>>().len()
    }

    fn data(&self) -> impl Strategy<Value = Data> + use<> {
        prop::collection::btree_map(0..self.fields.len(), 0..3_usize, 1..=self.fields.len())
    }
}

/// The value at a path of FieldsV1, made on the way.
fn place<'v>(object: &'v mut Value, path: &[&str]) -> &'v mut Value {
    path.iter().fold(object, |at, step| match step.split_once(':') {
        Some(("k", key)) => {
            let key: Value = serde_json::from_str(key).unwrap();
            if at.is_null() {
                *at = json!([]);
            }
            let items = at.as_array_mut().unwrap();
            let found = items.iter().position(|item| item["name"] == key["name"]);
            let index = found.unwrap_or_else(|| {
                items.push(key);
                items.len() - 1
            });
            &mut items[index]
        }
        Some((_, name)) => &mut at[name],
        None => unreachable!("{step}"),
    })
}

impl State {
    /// The result of a forced apply of `written`.
    fn applied(&self, written: &Data) -> Self {
        let mut after = self.clone();
        let ours = after.held.insert(US, written.keys().copied().collect()).unwrap_or_default();
        for (field, value) in written {
            if after.data.insert(*field, *value) != Some(*value) {
                let others = after.held.iter_mut().filter(|(manager, _)| **manager != US);
                for (_, fields) in others {
                    fields.remove(field);
                }
            }
        }
        let is_held = |field: &usize| after.held.values().any(|fields| fields.contains(field));
        let dropped: Vec<usize> = ours.into_iter().filter(|field| !is_held(field)).collect();
        for field in dropped {
            after.data.remove(&field);
        }
        after
    }
}

/// One situation of an object.
#[derive(Clone, Debug)]
struct Case {
    kind: usize,
    written: Data,
    last: Option<(Data, State)>,
    live: Option<State>,
    response: State,
}

fn cases() -> impl Strategy<Value = Case> {
    (0..KINDS.len()).prop_flat_map(|index| {
        let kind = &KINDS[index];
        let last = prop::option::of((kind.data(), kind.states()));
        let live = prop::option::weighted(0.9, kind.states());
        (kind.data(), last, live, kind.states(), any::<bool>()).prop_map(
            move |(written, last, live, other, intervenes)| {
                let nothing = State { data: Data::new(), held: BTreeMap::new() };
                let applied = live.as_ref().unwrap_or(&nothing).applied(&written);
                let last = last.map(|(written, before)| {
                    let response = before.applied(&written);
                    (written, response)
                });
                // A webhook may turn an apply into anything.
                let response = if intervenes { other } else { applied };
                Case { kind: index, written, last: last.filter(|_| live.is_some()), live, response }
            },
        )
    })
}

/// Where the CLI knows the last apply from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Memory {
    /// A baseline, as the provider's.
    Baseline,
    /// The record of a set, which has hashes in place of values.
    Set,
}

impl Case {
    fn target(&self) -> ObjectRef {
        let kind = &KINDS[self.kind];
        let gvk = format!("{}/{}", kind.api_version, kind.name).parse().unwrap();
        ObjectRef::new(gvk, Namespace::new("shop"), "a")
    }

    fn live(&self) -> Option<Observed> {
        self.live.as_ref().map(|live| Observed::new(KINDS[self.kind].object(live)).unwrap())
    }

    /// The body of the last apply, and the response to it.
    fn last(&self) -> Option<(Value, Observed)> {
        let kind = &KINDS[self.kind];
        let (written, response) = self.last.as_ref()?;
        Some((kind.body(written), Observed::new(kind.object(response)).unwrap()))
    }

    fn last_apply(&self) -> Option<LastApply> {
        let (written, response) = self.last()?;
        Some(LastApply { yaml: written.to_string(), response: response.object().clone() })
    }

    /// The record of the last apply, as a set that consists of the object keeps it.
    fn record(&self) -> Option<SetRecord> {
        let (written, response) = self.last()?;
        let mut set = SetRecord::new(MaskKey::new(0x5e7));
        let (target, manager) = (self.target(), FieldManager::new(US));
        let namespace = target.namespace.as_ref();
        set.insert(&target, &Desired::new(&manager, &written), &[], &response, namespace);
        Some(SetRecord::from_value(&set.to_value()).unwrap())
    }

    /// The same, where our manager has not applied the object again since the last apply: then others have only taken
    /// fields out of what it held.
    fn without_other_applies(mut self) -> Self {
        if let (Some((written, _)), Some(live)) = (&self.last, &mut self.live)
            && let Some(held) = live.held.get_mut(US)
        {
            held.retain(|field| written.contains_key(field));
        }
        self
    }
}

fn report(case: &Case, memory: Memory) -> ObjectReport {
    let target = case.target();
    let body = KINDS[case.kind].body(&case.written);
    let source = diag::Source::new("a.yaml", "");
    let part = diag::Span::default();
    let object =
        ResolvedObject { target: target.clone(), body, source, part, is_served: true, pending: None };
    let live = case.live().map(|live| (target.clone(), Ok(live))).into_iter().collect();
    let batch = Batch { live, ..Batch::default() };
    let reply = Reply {
        code: 200,
        object: KINDS[case.kind].object(&case.response),
        warnings: Vec::new(),
        retries: Vec::new(),
    };
    let writer = Writer::by(US, &LeaveArgs::default()).unwrap_or_else(|_| panic!("no patterns")).forced();
    let manager = FieldManager::new(US);
    let (last, set) = (case.last(), case.record());
    let baseline = last
        .as_ref()
        .map(|(written, response)| Baseline::record(response, &Desired::new(&manager, written), &MASK_KEY));
    let prior = match (memory, last.as_ref().zip(baseline.as_ref())) {
        (Memory::Set, _) => {
            let record = set.as_ref().and_then(|set| set.member(&target)?.record.as_ref());
            Prior::recorded(record, &manager, batch.observed(&target))
        }
        (Memory::Baseline, Some(((written, _), baseline))) => Prior::Applied { written, baseline },
        (Memory::Baseline, None) => Prior::Unrecorded,
    };
    batch.compare_with(prior, &object, reply, &writer)
}

fn planned(case: &Case) -> parity::Planned {
    let kind = &KINDS[case.kind];
    let last = case.last_apply();
    let live = case.live.as_ref().map(|live| kind.object(live));
    parity::planned(
        &kind.body(&case.written).to_string(),
        last.as_ref(),
        live,
        kind.object(&case.response),
        &MASK_KEY,
    )
}

fn check(case: &Case, memory: Memory) -> Result<(), TestCaseError> {
    let (ours, theirs) = (report(case, memory), planned(case));
    let ObjectState::Known(preview) = &ours.state else { panic!("{:?}", ours.findings) };

    // Only a baseline knows the value that the last apply left, which this warning has.
    let has_value = |it: &Diagnostic| memory == Memory::Set && it.code.name() == "ownership-overwriting";
    let detail = |it: &Diagnostic| (!has_value(it)).then(|| it.detail.clone());
    let texts = |warnings: &[Diagnostic]| -> Vec<_> {
        warnings.iter().map(|it| (it.code.name(), it.summary.clone(), detail(it))).collect()
    };
    // The CLI names list items by key, the provider by position, as its state does.
    let target = ours.target.to_string();
    let by_position = preview.warnings(&target, &Reporting::default(), Some(OMIT_FIELDS));
    // Where nothing changes that Terraform shows, it does not apply, and the warnings say that instead.
    if !theirs.unchanged {
        prop_assert_eq!(texts(&by_position), texts(&theirs.warnings));
    }
    let titles =
        |warnings: &[Diagnostic]| -> Vec<_> { warnings.iter().map(|it| it.summary.clone()).collect() };
    prop_assert_eq!(titles(&ours.findings), titles(&theirs.warnings));
    // The advice has the same place, in the words of each product.
    for (ours, theirs) in ours.findings.iter().zip(&theirs.warnings) {
        prop_assert_eq!(ours.hint.as_deref(), theirs.hint.as_ref().map(|_| OMIT_FIELDS));
    }

    let changes = |preview: &Preview| -> Vec<_> {
        let parts = |it: &FieldChange| {
            (
                it.path.clone(),
                (it.old.clone(), it.new.clone()),
                (it.held_now.clone(), it.held_after.clone()),
                it.row,
            )
        };
        preview.changes.iter().map(parts).collect()
    };
    prop_assert_eq!(theirs.preview.is_none(), preview.created);
    if let Some(theirs) = &theirs.preview {
        prop_assert_eq!(changes(preview), changes(theirs));
        prop_assert_eq!(&preview.takes, &theirs.takes);
        prop_assert_eq!(&preview.releases, &theirs.releases);
        prop_assert_eq!(transitions(preview), transitions(theirs));
    }
    if KINDS[case.kind].writes_all_items(&case.written) {
        shown(case, &ours, preview, &theirs)
    } else {
        Ok(())
    }
}

/// The transition of each field, without the value that the last apply left.
fn transitions(preview: &Preview) -> Vec<FieldTransition> {
    let mut fields = preview.analysis().fields.clone();
    for change in fields.iter_mut().filter_map(|field| field.change.as_mut()) {
        change.before = None;
        if change.masked {
            // Each has a key of its own.
            (change.live, change.planned) = (None, None);
        }
    }
    fields
}

/// Terraform shows of these changes exactly those of fields that we hold: `managed_state_projection` has no others, and
/// no list items that are not written.
fn shown(
    case: &Case,
    ours: &ObjectReport,
    preview: &Preview,
    theirs: &parity::Planned,
) -> Result<(), TestCaseError> {
    let manager = FieldManager::new(US);
    let body = KINDS[case.kind].body(&case.written);
    let positions = Positions::of(&body, &Schema::of(&body));
    let text = |value: &Option<Value>| value.as_ref().map(fields::flat_text);
    let is_map = |value: &Option<Value>| matches!(value, Some(Value::Object(_)));
    for change in &preview.changes {
        let field = positions.print(&change.path);
        let (now, after) = (change.held_now.contains(&manager), change.held_after.contains(&manager));
        if is_map(&change.old) || is_map(&change.new) {
            // It came or went as a whole; the projection has its fields.
            let is_inside = |(name, _): &(&String, &String)| name.starts_with(&format!("{field}."));
            let inside = |map: &'_ BTreeMap<String, String>| -> Vec<_> {
                map.iter().filter(is_inside).map(|(field, value)| (field.clone(), value.clone())).collect()
            };
            let is_shown = inside(&theirs.before) != inside(&theirs.after);
            prop_assert!(is_shown || !(now || after), "{}", &field);
            continue;
        }
        if now || after {
            prop_assert_ne!(theirs.before.get(&field), theirs.after.get(&field));
        }
        if now {
            prop_assert_eq!(theirs.before.get(&field).cloned(), text(&change.old));
        }
        let is_mask_to_come = theirs.after.get(&field).is_some_and(|text| text == parity::KNOWN_AFTER_APPLY);
        if is_mask_to_come {
            prop_assert!(case.live.is_none() && KINDS[case.kind].name == "Secret", "{}", &field);
        } else if after {
            prop_assert_eq!(theirs.after.get(&field).cloned(), text(&change.new));
        }
        // While nothing of ours changes, Terraform keeps the managers of the last refresh.
        let managers = theirs.managers.as_ref().filter(|_| !theirs.unchanged);
        if let Some(holder) = managers.and_then(|managers| managers.get(&field)) {
            let expected = change.held_after.iter().find(|it| **it == manager).or(change.held_after.first());
            prop_assert_eq!(Some(holder.as_str()), expected.map(FieldManager::as_str));
        }
    }
    // If we hold nothing of an object, the projection has the written fields instead.
    let holds = |state: &State| state.held.get(US).is_some_and(|fields| !fields.is_empty());
    if case.live.as_ref().is_some_and(holds) && holds(&case.response) {
        let fields: BTreeSet<&String> = theirs.before.keys().chain(theirs.after.keys()).collect();
        for field in fields.into_iter().filter(|field| theirs.before.get(*field) != theirs.after.get(*field))
        {
            let is_change = preview.changes.iter().any(|change| {
                // A container that comes or goes is one change.
                let name = positions.print(&change.path);
                field == &name || field.starts_with(&format!("{name}."))
            });
            let mut hands = preview.takes.iter().chain(&preview.releases);
            let changes_hands = hands.any(|path| *field == positions.print(path));
            prop_assert!(is_change || changes_hands, "{field}");
        }
    }
    if ours.action() == Action::Nothing {
        prop_assert_eq!(&theirs.before, &theirs.after);
    }
    Ok(())
}

proptest! {
    #[test]
    fn the_provider_plans_what_the_command_line_plans(case in cases()) {
        check(&case, Memory::Baseline)?;
    }

    #[test]
    fn the_provider_plans_what_a_set_plans_that_remembers_the_same_apply(case in cases()) {
        let case = case.without_other_applies();
        check(&case, Memory::Set)?;
        let (target, manager, body) = (case.target(), FieldManager::new(US), KINDS[case.kind].body(&case.written));
        if let (Some(set), Some(live), Some(last)) = (case.record(), case.live(), case.last_apply()) {
            let is_answered = set.is_answered(&target, &Desired::new(&manager, &body), &[], &live);
            let last_answer = parity::last_answer(&last, &body.to_string(), live.object().clone());
            prop_assert_eq!(is_answered, parity::question(last_answer) == Question::Needless);
        }
    }
}

/// They ask alike, with two differences: without a set the CLI remembers no answers, and without one the provider always asks, because
/// only a response says what the apply will return to Terraform.
#[test]
fn both_products_ask_the_same_questions_but_for_what_they_remember() {
    use Intervention::{None, Possible, Unknown};
    use LastAnswer::{Current, Forgotten, Outdated};
    use Question::{Needed, Needless};
    for (is_applied, intervention, cli) in [
        (true, None, Needless),
        (true, Possible, Needed),
        (true, Unknown, Needed),
        (false, None, Needed),
        (false, Possible, Needed),
        (false, Unknown, Needed),
    ] {
        let asked = question(Forgotten, || is_applied, intervention);
        assert_eq!(asked, cli, "{is_applied} {intervention:?}");
        for (last_answer, provider) in [(Current, Needless), (Outdated, Needed), (Forgotten, Needed)] {
            assert_eq!(parity::question(last_answer), provider, "{last_answer:?}");
            // A remembered answer beats everything else; so the shared rule is the provider's, whatever else is known.
            if last_answer != Forgotten {
                assert_eq!(question(last_answer, || is_applied, intervention), provider);
            }
        }
    }
}
