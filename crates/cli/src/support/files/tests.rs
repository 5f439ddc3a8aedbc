//! Files of all kinds, and the objects found in them.

use super::*;

fn load_text(text: &str) -> Loaded {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.yaml");
    fs::write(&path, text).unwrap();
    load_path(&path).unwrap_or_else(|_| panic!("the file can be read"))
}

fn config_map(name: &str) -> String {
    format!("apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: {name}\n---\n")
}

#[test]
fn an_invalid_document_does_not_hide_the_others() {
    let loaded = load_text(&format!("{}a: [\n---\n{}", config_map("one"), config_map("two")));
    let names: Vec<&str> = loaded.objects.iter().map(|object| object.name.as_str()).collect();
    assert_eq!(names, ["one", "two"]);
    assert_eq!(loaded.problems.len(), 1);
}

#[test]
fn an_object_that_is_defined_twice_counts_once() {
    let loaded = load_text(&format!("{}{}", config_map("one"), config_map("one")));
    assert_eq!(loaded.objects.len(), 1);
    assert_eq!(loaded.problems[0].summary, "ConfigMap one is defined twice");
    assert_eq!(loaded.problems[0].related.len(), 1);
}

#[test]
fn an_object_with_a_generated_name_is_refused() {
    let loaded = load_text("apiVersion: v1\nkind: ConfigMap\nmetadata:\n  generateName: one-\n");
    assert!(loaded.objects.is_empty());
    assert_eq!(loaded.problems[0].summary, "the object has no name");
}

#[test]
fn objects_to_create_may_share_the_beginning_of_a_generated_name() {
    let text = "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  generateName: one-\n---\n";
    let loaded = Loaded::of(&[Source::new("a.yaml", text.repeat(2))]);
    let loaded = loaded.unwrap_or_else(|_| panic!("two objects"));
    assert_eq!((loaded.objects.len(), loaded.problems.len()), (2, 0));
}

#[test]
fn folders_are_read_in_order_and_recursively_if_requested() {
    let folder = tempfile::tempdir().unwrap();
    fs::create_dir(folder.path().join("deep")).unwrap();
    for (file, name) in [("b.yml", "b"), ("a.yaml", "a"), ("deep/c.json", "c"), ("notes.txt", "d")] {
        fs::write(folder.path().join(file), config_map(name).replace("---\n", "")).unwrap();
    }
    let check = |recursive: bool, expected: &[&str]| {
        let sources = sources(folder.path(), recursive).unwrap_or_else(|_| panic!("the folder can be read"));
        let loaded = Loaded::of(&sources).unwrap_or_else(|_| panic!("the folder has objects"));
        let names: Vec<&str> = loaded.objects.iter().map(|object| object.name.as_str()).collect();
        assert_eq!(names, expected);
    };
    check(false, &["a", "b"]);
    check(true, &["a", "b", "c"]);
}

#[test]
fn a_secret_is_read_in_its_stored_form() {
    let loaded = load_text("apiVersion: v1\nkind: Secret\nmetadata:\n  name: db\nstringData:\n  k: v\n");
    assert_eq!(loaded.objects[0].body["data"]["k"], "dg==");
}

#[test]
fn fields_that_only_the_server_sets_and_unnamed_containers_are_refused() {
    let check = |rest: &str, expected: &[&str]| {
        let text = format!("apiVersion: v1\nkind: Pod\n{rest}");
        assert_eq!(load_text(&text).objects.len(), 1, "it can still be deleted: {rest}");
        let loaded = load_text(&text).bodies(false);
        let found: Vec<&str> = loaded.problems.iter().map(|problem| problem.summary.as_str()).collect();
        assert_eq!(found, expected, "{rest}");
        assert_eq!(loaded.objects.is_empty(), !expected.is_empty(), "{rest}");
    };
    check("metadata: {name: a, creationTimestamp: null}\nstatus: {}\n", &[]);
    check("metadata: {name: a, uid: x}\n", &["metadata.uid cannot be written"]);
    check("metadata: {name: a}\nstatus: {phase: Running}\n", &["status cannot be written"]);
    check("metadata: {name: a}\nspec: {containers: [{image: a}]}\n", &["spec.containers[0] has no name"]);
}

#[test]
fn a_quoted_pattern_stands_for_the_files_it_matches() {
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str| {
        let path = folder.path().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, "").unwrap();
    };
    ["b.yaml", "a.yaml", "c.json", "deep/d.yaml"].into_iter().for_each(write);
    let check = |pattern: &str, expected: &[&str]| {
        let found = patterns::expand(&folder.path().join(pattern)).unwrap_or_default();
        let expected: Vec<PathBuf> = expected.iter().map(|name| folder.path().join(name)).collect();
        assert_eq!(found, expected, "{pattern}");
    };
    check("*.yaml", &["a.yaml", "b.yaml"]);
    check("**/*.yaml", &["a.yaml", "b.yaml", "deep/d.yaml"]);
    check("[bc].*", &["b.yaml", "c.json"]);
    check("none-*", &[]);
    check("absent.yaml", &["absent.yaml"]);
    check("./*.yaml", &["a.yaml", "b.yaml"]);
    check("*/*.yaml", &["deep/d.yaml"]);
    check("**", &["a.yaml", "b.yaml", "c.json", "deep/d.yaml"]);
    check("*/../[a]*", &["deep/../a.yaml"]);
}

#[cfg(unix)]
#[test]
fn a_pattern_looks_only_where_it_leads_and_follows_no_circle() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    fs::create_dir(path("deep")).unwrap();
    fs::write(path("a.yaml"), "").unwrap();
    fs::write(path("deep/b.yaml"), "").unwrap();
    std::os::unix::fs::symlink(folder.path(), path("deep/up")).unwrap();
    let found = |pattern: &str| patterns::expand(&path(pattern)).unwrap_or_default();
    assert_eq!(found("*.yaml"), [path("a.yaml")]);
    assert_eq!(found("**/*.yaml"), [path("a.yaml"), path("deep/b.yaml")]);
    assert_eq!(found("deep/up/*.yaml"), [path("deep/up/a.yaml")], "a link that is named is followed");
}

#[test]
fn a_broken_secret_is_reported_without_its_lines() {
    let loaded = load_text("apiVersion: v1\nkind: Secret\nstringData:\n  password: [hunter2\n");
    let [problem] = &loaded.problems[..] else { panic!("{:?}", loaded.problems) };
    assert!(problem.location.is_none() && problem.detail.contains("a.yaml, line "), "{problem:?}");
    assert!(!format!("{problem:?}").contains("hunter2"), "{problem:?}");
}
