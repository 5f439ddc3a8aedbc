//! The objects in the input files: everything that parses, and the problems in the rest.

mod kustomize;
mod patterns;
mod web;

use std::collections::{HashMap, HashSet};
use std::fs;
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};

use diag::{Diagnostic, Source, Span};
use manifest::body::ServerField;
use manifest::{GroupVersionKind, Limits, Name, Namespace, Object, body, secret, server_metadata};
use serde_json::Value;

use super::exit::Failure;
use crate::args::files::FileArgs;
use crate::args::plan::BodyArgs;
use crate::codes;

/// An object from a file.
#[derive(Clone)]
pub(crate) struct Written {
    /// The object; a Secret has its values under `data`.
    pub(crate) body: Value,
    pub(crate) gvk: GroupVersionKind,
    pub(crate) namespace: Option<Namespace>,
    /// Only the beginning of it, if the API server generates it.
    pub(crate) name: String,
    pub(crate) is_name_generated: bool,
    pub(crate) source: Source,
    /// The document of that text that it is in.
    pub(crate) part: Span,
    pub(crate) span: Span,
    /// Why the object cannot be applied as written; it may still be deleted or rendered.
    pub(crate) violations: Vec<Diagnostic>,
}

#[derive(Default)]
pub(crate) struct Loaded {
    pub(crate) objects: Vec<Written>,
    /// Problems in documents that are not among the objects.
    pub(crate) problems: Vec<Diagnostic>,
}

/// Reads the files. An unreadable file ends the command; an invalid document does not hide the others.
pub(crate) async fn load(args: &FileArgs) -> Result<Loaded, Failure> {
    Loaded::with_names(&all_sources(args).await?)
}

/// The same for objects that are created anew: the API server may choose their names.
pub(crate) async fn load_new(args: &FileArgs) -> Result<Loaded, Failure> {
    Loaded::of(&all_sources(args).await?)
}

/// The same for one local file or folder.
pub(crate) fn load_path(path: &Path) -> Result<Loaded, Failure> {
    Loaded::with_names(&sources(path, false)?)
}

async fn all_sources(args: &FileArgs) -> Result<Vec<Source>, Failure> {
    if let Some(folder) = &args.kustomize {
        return Ok(vec![kustomize::build(folder)?]);
    }
    if args.filenames.is_empty() {
        let diagnostic = Diagnostic::error(codes::FILE_UNREADABLE, "no input: pass -f or -k");
        return Err(diagnostic
            .hint("Pass files or folders with --filename, or a kustomization with --kustomize.")
            .into());
    }
    let mut found = Vec::new();
    for path in &args.filenames {
        if let Some(url) = web::url(path) {
            found.push(web::fetch(url).await?);
            continue;
        }
        for path in patterns::expand(path)? {
            found.extend(sources(&path, args.recursive)?);
        }
    }
    Ok(found)
}

/// The same for objects to apply: those that set what a body may not contain become problems.
pub(crate) async fn load_bodies(args: &BodyArgs) -> Result<Loaded, Failure> {
    Ok(load(&args.files).await?.bodies(args.strip))
}

/// The objects to apply in a text.
pub(crate) fn read_bodies(source: &Source) -> Loaded {
    let mut loaded = Loaded::default();
    loaded.read(source);
    loaded.refuse_duplicates();
    loaded.refuse_generated_names();
    loaded.refuse_violations();
    loaded
}

impl Written {
    /// Removes what only the API server sets, and kubectl's copy of the manifest.
    fn strip(&mut self) {
        server_metadata::remove(self.body.get_mut("metadata"), server_metadata::ALL);
        if let Some(fields) = self.body.as_object_mut() {
            fields.remove("status");
        }
        if let Some(annotations) =
            self.body.pointer_mut("/metadata/annotations").and_then(Value::as_object_mut)
        {
            annotations.remove("kubectl.kubernetes.io/last-applied-configuration");
        }
        self.violations.retain(|violation| violation.code != manifest::codes::SERVER_FIELD);
    }
}

/// Fields that only the API server sets. Several of them mean that a command has printed the object.
fn server_fields(object: &Object<'_>, name: &str) -> Vec<Diagnostic> {
    let fields = body::server_fields(object).into_iter().filter(|field| !field.is_empty);
    let mut fields: Vec<ServerField> = fields.collect();
    let line_of =
        |field: &ServerField| field.finding.location.as_ref().map_or(0, |location| location.position().line);
    fields.sort_by_key(line_of);
    let [first, _, ..] = &fields[..] else {
        return fields.into_iter().map(|field| field.finding).collect();
    };
    let line = |field: &ServerField| format!("\n  line {}: {}", line_of(field), field.path);
    let lines: String = fields.iter().map(line).collect();
    let title = format!("{} {name} has fields that only the API server sets", object.gvk.kind());
    let mut finding = Diagnostic::error(manifest::codes::SERVER_FIELD, title)
        .detail(format!(
            "`kubectl get -o yaml` prints such fields, but they do not belong in a manifest:\n{lines}"
        ))
        .hint("Take them out of the file, or pass --strip to leave them out.");
    finding.location.clone_from(&first.finding.location);
    vec![finding]
}

/// Whether a text that cannot be parsed seems to contain a Secret.
fn names_a_secret(text: &str) -> bool {
    let bare = |line: &str| line.replace([' ', '"', '\'', '{', ','], "");
    text.lines().any(|line| bare(line).contains("kind:Secret"))
}

/// The same problem without the lines of the file, which may have values of a Secret.
fn without_text(mut problem: Diagnostic) -> Diagnostic {
    if let Some(location) = problem.location.take() {
        let position = location.position();
        let place =
            format!("It is in {}, line {}, which is not shown.", location.source.name(), position.line);
        problem.detail =
            if problem.detail.is_empty() { place } else { format!("{} {place}", problem.detail) };
    }
    problem
}

impl Loaded {
    fn of(sources: &[Source]) -> Result<Self, Failure> {
        let mut loaded = Self::default();
        for source in sources {
            loaded.read(source);
        }
        if loaded.objects.is_empty() && loaded.problems.is_empty() {
            let diagnostic = Diagnostic::error(codes::FILE_UNREADABLE, "the input contains no objects");
            return Err(diagnostic
                .hint("Check the command or file that produces it: comments and empty documents are not objects.")
                .into());
        }
        loaded.refuse_duplicates();
        Ok(loaded)
    }

    /// The same, where a generated name is a problem.
    fn with_names(sources: &[Source]) -> Result<Self, Failure> {
        let mut loaded = Self::of(sources)?;
        loaded.refuse_generated_names();
        Ok(loaded)
    }

    fn refuse_generated_names(&mut self) {
        let generated = self.objects.extract_if(.., |object| object.is_name_generated);
        self.problems.extend(generated.map(|object| {
            Diagnostic::error(codes::NAME_GENERATED, "the object has no name")
                .at(&object.source, object.span, "")
                .detail("generateName gives an object a new name at every apply, so there is nothing to compare it with.")
                .hint("Set metadata.name, or create the object with `plimsoll create`.")
        }));
    }

    /// The same, where an object that sets what a body may not contain is a problem.
    pub(crate) fn bodies(mut self, strip: bool) -> Self {
        if strip {
            self.objects.iter_mut().for_each(Written::strip);
        }
        self.refuse_violations();
        self
    }

    fn read(&mut self, source: &Source) {
        let mut problems: Vec<(usize, Diagnostic)> = Vec::new();
        let broken =
            manifest::read_each(source, &Limits::default(), |document| match manifest::objects(&document) {
                Err(found) => problems.extend(found.into_iter().map(|problem| (document.number(), problem))),
                Ok(objects) => objects.iter().for_each(|object| self.take(source, object)),
            });
        let may_be_secret = !broken.is_empty() && names_a_secret(source.text());
        for manifest::Broken { number, problems: found, .. } in broken {
            let found = found.into_iter().map(|it| if may_be_secret { without_text(it) } else { it });
            problems.extend(found.map(|problem| (number, problem)));
        }
        problems.sort_by_key(|(number, _)| *number);
        self.problems.extend(problems.into_iter().map(|(_, problem)| problem));
    }

    fn take(&mut self, source: &Source, object: &Object<'_>) {
        let metadata = manifest::Step::Key("metadata");
        let (name, span) = match &object.name {
            Name::Given(name) => (name.clone(), object.span(&[metadata, manifest::Step::Key("name")])),
            Name::Generated(prefix) => (prefix.clone(), object.span(&[metadata])),
        };
        let is_name_generated = matches!(object.name, Name::Generated(_));
        let mut violations = server_fields(object, &name);
        violations.extend(body::unnamed_containers(object));
        let mut body = object.body();
        secret::normalise(&mut body);
        let (gvk, namespace) = (object.gvk.clone(), object.namespace.clone());
        let (source, part) = (source.clone(), object.document().span());
        self.objects.push(Written {
            body,
            gvk,
            namespace,
            name,
            is_name_generated,
            source,
            part,
            span,
            violations,
        });
    }

    /// Makes problems of objects that cannot be applied as written.
    fn refuse_violations(&mut self) {
        let invalid = self.objects.extract_if(.., |object| !object.violations.is_empty());
        self.problems.extend(invalid.flat_map(|object| object.violations));
    }

    /// Rejects two definitions of one object, because which one wins would be arbitrary.
    fn refuse_duplicates(&mut self) {
        let mut first = HashMap::new();
        let mut twice = HashSet::new();
        for (place, object) in self.objects.iter().enumerate().filter(|(_, it)| !it.is_name_generated) {
            let Written { gvk, namespace, name, .. } = object;
            let twin: &Written = first.entry((gvk.group(), gvk.kind(), namespace, name)).or_insert(object);
            if std::ptr::eq(twin, object) {
                continue;
            }
            twice.insert(place);
            self.problems.push(
                Diagnostic::error(codes::OBJECT_TWICE, format!("{} {name} is defined twice", gvk.kind()))
                    .at(&object.source, object.span, "second definition")
                    .related(&twin.source, twin.span, "first definition")
                    .hint("Keep one of them."),
            );
        }
        let mut places = 0..;
        self.objects.retain(|_| places.next().is_some_and(|place| !twice.contains(&place)));
    }
}

/// The texts at `path`: standard input, a file, or the manifests in a folder, sorted by name.
pub(crate) fn sources(path: &Path, recursive: bool) -> Result<Vec<Source>, Failure> {
    if path == Path::new("-") {
        let mut bytes = Vec::new();
        io::stdin().read_to_end(&mut bytes).map_err(|error| unreadable(path, &error))?;
        return Ok(vec![decode("<stdin>", &bytes)?]);
    }
    let read = |path: &Path| {
        let bytes = fs::read(path).map_err(|error| unreadable(path, &error))?;
        decode(&path.display().to_string(), &bytes)
    };
    if !path.is_dir() {
        return Ok(vec![read(path)?]);
    }
    let mut found = Vec::new();
    collect(path, recursive, &mut found)?;
    if found.is_empty() {
        let title = format!("no manifests in {}", path.display());
        let hint = "Manifests end in .yaml, .yml or .json; pass --recursive to include subfolders.";
        return Err(Diagnostic::error(codes::FILE_UNREADABLE, title).hint(hint).into());
    }
    found.iter().map(|path| read(path)).collect()
}

fn collect(folder: &Path, recursive: bool, found: &mut Vec<PathBuf>) -> Result<(), Failure> {
    let entries = fs::read_dir(folder).and_then(Iterator::collect::<io::Result<Vec<_>>>);
    let mut paths: Vec<PathBuf> =
        entries.map_err(|error| unreadable(folder, &error))?.into_iter().map(|entry| entry.path()).collect();
    paths.sort();
    for path in paths {
        let is_manifest = path
            .extension()
            .is_some_and(|extension| ["yaml", "yml", "json"].iter().any(|known| extension == *known));
        if path.is_dir() {
            if recursive {
                collect(&path, recursive, found)?;
            }
        } else if is_manifest {
            found.push(path);
        }
    }
    Ok(())
}

fn decode(name: &str, bytes: &[u8]) -> Result<Source, Failure> {
    manifest::decode(name, bytes).map_err(Failure::Diagnostic)
}

pub(crate) fn unreadable(path: &Path, error: &io::Error) -> Failure {
    Diagnostic::error(codes::FILE_UNREADABLE, format!("cannot read {}", path.display()))
        .detail(format!("Cause: {error}."))
        .into()
}

#[cfg(test)]
mod tests;
