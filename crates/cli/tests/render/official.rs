//! The examples of functions that people use, rendered by `plimsoll render`, and by Crossplane's own program with this engine. The programs
//! take minutes to build: only the long tests run this.

use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output};
use std::time::{Duration, Instant};

use composition::definition::Definition;
use diag::Source;
use functions::{RunRequest, RunResponse, response};
use manifest::Limits;
use serde_json::{Map, Value, json};
use testkit::ReleaseTool;

use crate::fixture::{Fixture, config_map};

/// An example of a function: its folder, its Composition, and further arguments, of which the second word is a file.
struct Example {
    of: ReleaseTool,
    folder: &'static str,
    composition: &'static str,
    more: &'static [&'static str],
}

const fn templating(folder: &'static str, more: &'static [&'static str]) -> Example {
    Example { of: ReleaseTool::GoTemplating, folder, composition: "composition.yaml", more }
}

/// All examples of these functions, but two: `filesystem`, whose templates are mounted into the function, and
/// `inline-templates`, which has no XR.
const EXAMPLES: &[Example] = &[
    templating("conditions", &[]),
    templating("context", &["-e", "environmentConfigs.yaml"]),
    templating("custom-delims", &[]),
    templating("environment", &["-e", "environmentConfigs.yaml"]),
    templating("extra-resources", &["-e", "extraResources.yaml"]),
    templating("functions/fromYaml", &[]),
    templating("functions/getComposedResource", &["-o", "observed.yaml"]),
    templating("functions/getCompositeResource", &[]),
    templating("functions/getCredentialData", &["--function-credentials", "credentials.yaml"]),
    templating("functions/getExtraResources", &["-e", "extraResources.yaml"]),
    templating("functions/getExtraResourcesFromContext", &["-e", "extraResources.yaml"]),
    templating("functions/getResourceCondition", &["-o", "observed.yaml"]),
    templating("functions/include", &[]),
    templating("functions/toYaml", &[]),
    templating("inline", &[]),
    Example { composition: "composition-real.yaml", ..templating("recursive", &[]) },
    Example { composition: "composition-wrapper.yaml", ..templating("recursive", &[]) },
    Example {
        of: ReleaseTool::AutoReady,
        composition: "composition-k8s.yaml",
        ..templating("basic", &["-o", "observed-k8s.yaml"])
    },
    Example {
        of: ReleaseTool::AutoReady,
        ..templating("cel-healthcheck", &["-o", "observed.yaml", "-e", "extra-resources.yaml"])
    },
    Example { of: ReleaseTool::PatchAndTransform, ..templating("", &[]) },
];

/// A function that runs while this value lives.
struct Running {
    process: Child,
    address: SocketAddr,
}

impl Running {
    fn start(tool: ReleaseTool, more: &[&str]) -> Self {
        let address = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
        let mut command = tool.command();
        command.args(["--insecure", "--address", &address.to_string()]).args(more);
        let process = command.spawn().unwrap();
        let deadline = Instant::now() + Duration::from_secs(30);
        while TcpStream::connect(address).is_err() {
            assert!(Instant::now() < deadline, "{tool:?} does not listen");
            std::thread::sleep(Duration::from_millis(50));
        }
        Self { process, address }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // It has nothing to lose.
        let _ended = self.process.kill().and_then(|()| self.process.wait());
    }
}

/// Stands in for function-environment-configs, of which no Go module is published: the data of all named EnvironmentConfigs,
/// merged into the environment.
async fn environment(request: RunRequest) -> Result<RunResponse, functions::FunctionError> {
    let mut answer = response::to(&request);
    let input = Value::Object(request.input.clone().unwrap_or_default());
    let mut data = Map::new();
    for config in input["spec"]["environmentConfigs"].as_array().into_iter().flatten() {
        let name = config["ref"]["name"].as_str().unwrap_or_default();
        for version in ["v1alpha1", "v1beta1"] {
            let key = format!("{version}/{name}");
            let selector = composition::protocol::ResourceSelector {
                api_version: format!("apiextensions.crossplane.io/{version}"),
                kind: "EnvironmentConfig".to_owned(),
                matching: composition::protocol::Match::Name(name.to_owned()),
                namespace: None,
            };
            let found = request.required_resources.get(&key).into_iter().flatten();
            data.extend(found.filter_map(|one| one.object.get("data")?.as_object().cloned()).flatten());
            answer.requirements.resources.insert(key, selector);
        }
    }
    let context = answer.context.get_or_insert_default();
    context.insert("apiextensions.crossplane.io/environment".to_owned(), data.into());
    Ok(answer)
}

/// The functions by name, under both names that Crossplane knows them by.
fn functions(fixture: &Fixture, file: &str, places: &[(&str, &str)]) {
    let mut documents = Vec::new();
    for (name, address) in places {
        for name in [(*name).to_owned(), format!("crossplane-contrib-{name}")] {
            let annotations = json!({
                "render.crossplane.io/runtime": "Development",
                "render.crossplane.io/runtime-development-target": address,
            });
            let function = json!({
                "apiVersion": "pkg.crossplane.io/v1", "kind": "Function",
                "metadata": {"name": name, "annotations": annotations}, "spec": {"package": name},
            });
            documents.push(manifest::to_yaml(&function));
        }
    }
    fixture.write(file, &documents.join("---\n"));
}

/// The objects that a program printed.
#[track_caller]
fn objects(what: &str, output: &Output) -> Vec<Value> {
    assert!(output.status.success(), "{what}: {}", String::from_utf8_lossy(&output.stderr));
    let source = Source::new("output", String::from_utf8(output.stdout.clone()).unwrap());
    let documents = manifest::read(&source, &Limits::default()).all().unwrap();
    documents.into_iter().map(manifest::Document::into_value).filter(|value| !value.is_null()).collect()
}

#[test]
fn official_examples_render_the_same_with_both_command_lines() {
    if std::env::var_os("PLIMSOLL_WHOLE").is_none() {
        return;
    }
    let fixture = Fixture::new();
    let templating = Running::start(ReleaseTool::GoTemplating, &[]);
    let patching = Running::start(ReleaseTool::PatchAndTransform, &[]);
    let gates = "--feature-gates=CELHealthcheckCustomizations=true";
    let readiness = Running::start(ReleaseTool::AutoReady, &[gates]);
    let [templating_at, patching_at, readiness_at] =
        [&templating, &patching, &readiness].map(|running| running.address.to_string());
    let environment_at = fixture.endpoint(environment);
    let places = [
        ("function-go-templating", templating_at.as_str()),
        ("function-patch-and-transform", &patching_at),
        ("function-environment-configs", &environment_at),
    ];
    // Ours is built in.
    functions(&fixture, "ours.yaml", &places);
    functions(&fixture, "theirs.yaml", &[&places[..], &[("function-auto-ready", &readiness_at)]].concat());

    let mut rendered = 0;
    for Example { of, folder, composition, more } in EXAMPLES {
        let what = format!("{of:?} {folder}/{composition}");
        let example = of.source().join("example").join(folder);
        let path = |name: &str| example.join(name).display().to_string();
        let more = more.chunks(2).flat_map(|pair| [pair[0].to_owned(), path(pair[1])]).collect::<Vec<_>>();
        let xr = nearest(&example, "xr.yaml").display().to_string();
        let arguments = |functions: &str| {
            [vec![xr.clone(), path(composition), fixture.path(functions)], more.clone()].concat()
        };
        let mut ours = Command::new(env!("CARGO_BIN_EXE_plimsoll"));
        ours.arg("render").args(arguments("ours.yaml"));
        let mut theirs = ReleaseTool::Crossplane.command();
        theirs.args(["composition", "render"]).args(arguments("theirs.yaml"));
        theirs.args(["--crossplane-binary", env!("CARGO_BIN_EXE_plimsoll")]);
        let [mut ours, mut theirs] = [ours, theirs].map(|mut it| objects(&what, &it.output().unwrap()));
        for objects in [&mut ours, &mut theirs] {
            without_random_values(objects);
        }
        assert_eq!(ours, theirs, "{what}");
        rendered += ours.len();
    }
    assert!(rendered > 2 * EXAMPLES.len(), "{rendered} objects");
}

#[test]
fn crossplanes_command_line_validates_what_is_rendered_and_what_is_in_a_cluster() {
    if std::env::var_os("PLIMSOLL_WHOLE").is_none() {
        return;
    }
    let fixture = Fixture::new();
    // It would fetch Crossplane's own kinds, of which none is validated here.
    let image = "xpkg.crossplane.io/crossplane/crossplane@stable";
    let own =
        operator::install::definitions(operator::Half::Composition, &oraclecloud::Catalogue::standard());
    fixture.write(&format!("cache/{image}/package.yaml"), &manifest::to_yaml(&own[0]));
    let is_valid = |extension: &Value, object: &Value| {
        fixture.write("extension.yaml", &manifest::to_yaml(extension));
        fixture.write("object.yaml", &manifest::to_yaml(object));
        let mut validate = ReleaseTool::Crossplane.command();
        let [extension, object, cache] =
            ["extension.yaml", "object.yaml", "cache"].map(|name| fixture.path(name));
        validate.args(["resource", "validate", &extension, &object, "--cache-dir", &cache]);
        let output = validate.env("HOME", fixture.path("home")).output().unwrap();
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        assert!(text.contains("Total 1 resources: 0 missing schemas"), "{text}");
        output.status.success()
    };
    fixture.composition(&["main"], |_| {});
    fixture.serve(config_map);
    let files = ["xr.yaml", "composition.yaml", "functions.yaml"].map(|name| fixture.path(name));
    let mut render = Command::new(env!("CARGO_BIN_EXE_plimsoll"));
    let output = render.arg("render").args(files).arg("-x").output().unwrap();
    let mut xr = objects("render", &output).swap_remove(0);
    assert!(is_valid(&xrd(), &xr), "{xr}");

    // In a cluster the engine also keeps records there, which the CRD has.
    xr["status"]["crossplane"] = json!({"pipeline": [{"step": "run-main", "severity": "Normal", "message": "m", "target": "Composite"}]});
    assert!(!is_valid(&xrd(), &xr), "{xr}");
    assert!(is_valid(&crd(), &xr), "{xr}");
    let mut allowing = xrd();
    let status = &mut allowing["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["status"];
    status["properties"]["crossplane"] =
        json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true});
    assert!(is_valid(&allowing, &xr), "{xr}");
}

/// A file in the folder of an example, or in the one above.
fn nearest(folder: &Path, name: &str) -> PathBuf {
    let candidates = folder.ancestors().map(|folder| folder.join(name));
    candidates.into_iter().find(|path| path.exists()).unwrap()
}

/// The example `inline` chooses labels at random.
fn without_random_values(objects: &mut [Value]) {
    for object in objects {
        if let Some(labels) = object.pointer_mut("/metadata/labels").and_then(Value::as_object_mut) {
            labels.remove("dummy");
        }
    }
}

/// An XRD for the XR of the fixture.
fn xrd() -> Value {
    let size = json!({"type": "object", "properties": {"size": {"type": "integer"}}});
    json!({
        "apiVersion": "apiextensions.crossplane.io/v2", "kind": "CompositeResourceDefinition",
        "metadata": {"name": "xapps.example.org"},
        "spec": {
            "group": "example.org", "scope": "Cluster", "names": {"kind": "XApp", "plural": "xapps"},
            "versions": [{
                "name": "v1", "served": true, "referenceable": true,
                "schema": {"openAPIV3Schema": {"type": "object", "properties": {"spec": size, "status": size}}},
            }],
        },
    })
}

/// The CRD that the operator makes of it.
fn crd() -> Value {
    let (definition, _) = Definition::read(xrd().as_object().unwrap()).unwrap();
    Value::Object(composition::crd::composite(&definition))
}
