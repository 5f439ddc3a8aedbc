//! Which kubeconfig an import stores in the state: the file with the context, or the parts of several files that the
//! context needs.

use std::path::Path;

use cluster::Environment;
use diag::{Diagnostic, Source};
use manifest::Limits;
use serde_json::{Value, json};

use super::refusal;

/// An existing kubeconfig file.
struct File<'p> {
    path: &'p Path,
    text: String,
    value: Value,
}

/// The content of a kubeconfig that has `context`. A single file is stored as is; from a list, as in `KUBECONFIG`, the
/// entries the context refers to are merged by kubectl's rule: the first one wins.
pub(super) fn with_context(environment: &Environment, context: &str) -> Result<String, Box<Diagnostic>> {
    let paths = environment.kubeconfig_paths();
    if paths.is_empty() {
        return Err(refusal(
            "KUBECONFIG Not Found",
            "KUBECONFIG is not set, and there is no home directory to look for .kube/config in.".to_owned(),
        ));
    }
    let listed = paths.iter().map(|path| path.display().to_string()).collect::<Vec<_>>().join(", ");
    let mut files = Vec::new();
    for path in &paths {
        files.extend(read(path)?);
    }
    if files.is_empty() {
        return Err(refusal("Kubeconfig File Not Found", format!("There is no file {listed}.")));
    }
    let Some((_, found)) = find_entry(&files, "contexts", context) else {
        let contexts: Vec<&str> = files.iter().flat_map(|file| context_names(&file.value)).collect();
        let detail = format!("There is no context {context:?} in {listed}. It has: {}.", contexts.join(", "));
        return Err(refusal("Context Not Found", detail));
    };
    match &files[..] {
        [only] => Ok(only.text.clone()),
        several => Ok(merged(several, context, found)),
    }
}

/// Reads a file, if it exists. Errors do not quote it, because it contains credentials.
fn read(path: &Path) -> Result<Option<File<'_>>, Box<Diagnostic>> {
    let text = match std::fs::read_to_string(path) {
        Ok(text) => text,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        Err(error) => {
            return Err(refusal("Cannot Read Kubeconfig", format!("{}: {error}.", path.display())));
        }
    };
    let source = Source::new("kubeconfig", text.as_str());
    let invalid = |_| refusal("Invalid Kubeconfig", format!("{} is not valid YAML.", path.display()));
    let value = manifest::read(&source, &Limits::default()).single().map_err(invalid)?.value().clone();
    Ok(Some(File { path, text, value }))
}

/// A kubeconfig with one context and the entries it refers to.
fn merged(files: &[File<'_>], name: &str, context: &Value) -> String {
    let mut config = json!({
        "apiVersion": "v1", "kind": "Config", "current-context": name,
        "contexts": [{"name": name, "context": context}],
    });
    for (list, kind) in [("clusters", "cluster"), ("users", "user")] {
        let name = context[kind].as_str().unwrap_or_default();
        let found = find_entry(files, list, name);
        let entries =
            found.map(|(file, found)| json!({"name": name, kind: with_absolute_paths(found, file.path)}));
        config[list] = entries.into_iter().collect();
    }
    manifest::to_yaml(&config)
}

/// The first entry of this name in a list of any of the files: `contexts`, `clusters` or `users`.
fn find_entry<'f>(files: &'f [File<'_>], list: &str, name: &str) -> Option<(&'f File<'f>, &'f Value)> {
    let inner = list.trim_end_matches('s');
    files.iter().find_map(|file| {
        let entries = file.value[list].as_array().into_iter().flatten();
        let entry = entries.into_iter().find(|entry| entry["name"] == name)?;
        Some((file, &entry[inner]))
    })
}

fn context_names(kubeconfig: &Value) -> impl Iterator<Item = &str> {
    let contexts = kubeconfig["contexts"].as_array().into_iter().flatten();
    contexts.filter_map(|context| context["name"].as_str())
}

/// A cluster or user with relative paths resolved against its file's directory, as kubectl does.
fn with_absolute_paths(entry: &Value, file: &Path) -> Value {
    const PATHS: [&str; 4] = ["certificate-authority", "client-certificate", "client-key", "tokenFile"];
    let folder = file.parent().unwrap_or(Path::new(""));
    let mut entry = entry.clone();
    let resolve = |value: &mut Value| {
        if let Some(path) = value.as_str().filter(|path| !path.is_empty()) {
            *value = folder.join(path).display().to_string().into();
        }
    };
    for name in PATHS {
        if let Some(path) = entry.get_mut(name) {
            resolve(path);
        }
    }
    // A command without a slash is looked up in the PATH.
    if let Some(command) = entry.pointer_mut("/exec/command")
        && command.as_str().is_some_and(|command| command.contains('/'))
    {
        resolve(command);
    }
    entry
}

#[cfg(test)]
mod tests {
    use std::ffi::OsString;

    use super::*;

    fn environment(kubeconfig: OsString) -> Environment {
        Environment { kubeconfig: Some(kubeconfig), ..Environment::default() }
    }

    fn title(environment: &Environment, context: &str) -> String {
        with_context(environment, context).unwrap_err().summary
    }

    #[test]
    fn a_single_file_is_kept_as_it_is_and_missing_parts_are_named() {
        let folder = tempfile::tempdir().unwrap();
        let (file, absent) = (folder.path().join("a"), folder.path().join("absent"));
        let text = "apiVersion: v1 # mine\ncontexts:\n- name: one\n  context: {}\n";
        std::fs::write(&file, text).unwrap();
        let list = std::env::join_paths([&absent, &file]).unwrap();
        assert_eq!(with_context(&environment(list.clone()), "one").unwrap(), text);
        assert_eq!(title(&environment(list), "two"), "Import Failed: Context Not Found");
        assert_eq!(title(&Environment::default(), "x"), "Import Failed: KUBECONFIG Not Found");
        assert_eq!(title(&environment(absent.into()), "x"), "Import Failed: Kubeconfig File Not Found");
        assert_eq!(title(&environment(folder.path().into()), "x"), "Import Failed: Cannot Read Kubeconfig");
        std::fs::write(&file, "a: [").unwrap();
        assert_eq!(title(&environment(file.into()), "x"), "Import Failed: Invalid Kubeconfig");
    }

    #[test]
    fn the_parts_that_a_context_needs_are_merged_from_several_files() {
        let folder = tempfile::tempdir().unwrap();
        let write = |name: &str, text: &str| {
            let path = folder.path().join(name);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(&path, text).unwrap();
            path
        };
        let files = [
            write(
                "a/config",
                "clusters:\n- name: k\n  cluster: {server: 'https://first', certificate-authority: ca.crt}\nusers:\n- name: other\n  user: \
                 {token: hunter2}\n",
            ),
            write(
                "b/config",
                "contexts:\n- name: 'arn:aws:eks'\n  context: {cluster: k, user: u, namespace: shop}\nclusters:\n- name: k\n  cluster: \
                 {server: 'https://second'}\nusers:\n- name: u\n  user: {exec: {command: bin/login, args: [x]}}\n",
            ),
        ];
        let list = std::env::join_paths(files).unwrap();
        let merged = with_context(&environment(list), "arn:aws:eks").unwrap();
        insta::assert_snapshot!(merged.replace(&folder.path().display().to_string(), "FOLDER"), @r"
        apiVersion: v1
        clusters:
        - cluster:
            certificate-authority: FOLDER/a/ca.crt
            server: https://first
          name: k
        contexts:
        - context:
            cluster: k
            namespace: shop
            user: u
          name: arn:aws:eks
        current-context: arn:aws:eks
        kind: Config
        users:
        - name: u
          user:
            exec:
              args:
              - x
              command: FOLDER/b/bin/login
        ");
    }
}
