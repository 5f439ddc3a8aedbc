//! The inputs of a rendering: files, parsed into the types of the engine.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use composition::composition::Composition;
use composition::connection;
use composition::definition::Definition;
use composition::function::Function;
use composition::object;
use composition::protocol::{Object, SecretData};
use diag::Diagnostic;
use serde_json::Value;

use crate::args::files::FileArgs;
use crate::args::render::Render;
use crate::codes;
use crate::support::exit::Failure;
use crate::support::files;

pub(in crate::commands) struct Inputs {
    pub(in crate::commands) xr: Object,
    pub(in crate::commands) composition: Composition,
    pub(in crate::commands) definition: Option<Definition>,
    pub(in crate::commands) functions: Vec<Function>,
    pub(in crate::commands) observed: Vec<Object>,
    pub(in crate::commands) required: Vec<Object>,
    pub(in crate::commands) schemas: Vec<Object>,
    /// Secrets by namespace and name.
    pub(in crate::commands) credentials: BTreeMap<(String, String), SecretData>,
    pub(in crate::commands) context: Object,
    /// Problems that do not stop the rendering.
    pub(in crate::commands) warnings: Vec<Diagnostic>,
}

impl Inputs {
    /// Reads the files, and reports all problems of a file at once.
    pub(in crate::commands) fn read(args: &Render) -> Result<Self, Failure> {
        let xr = single(&args.composite, "the composite resource")?;
        let composition = single(&args.composition, "the Composition")?;
        let composition =
            Composition::read(&composition).map_err(|found| in_file(found, &args.composition))?;
        if composition.spec.pipeline.is_empty() {
            let title = format!("the pipeline in {} has no steps", args.composition.display());
            return Err(Diagnostic::error(codes::RENDER_INPUT, title)
                .hint("Name the functions to run under spec.pipeline.")
                .into());
        }
        let mut warnings = Vec::new();
        let definition = match &args.xrd {
            None => None,
            Some(path) => {
                let xrd = single(path, "the CompositeResourceDefinition")?;
                let (definition, found) = Definition::read(&xrd).map_err(|found| in_file(found, path))?;
                warnings.extend(found);
                Some(definition)
            }
        };
        let read =
            |object: &Object| Function::read(object).map_err(|found| in_file(vec![*found], &args.functions));
        let functions = many(Some(&args.functions))?.iter().map(read).collect::<Result<_, _>>()?;
        Ok(Self {
            xr,
            composition,
            definition,
            functions,
            observed: many(args.observed_resources.as_ref())?,
            required: many(args.required_resources.as_ref())?,
            schemas: documents(args.required_schemas.as_ref())?,
            credentials: many(args.function_credentials.as_ref())?.iter().map(secret).collect(),
            context: context(args)?,
            warnings,
        })
    }
}

/// The objects in a file or folder, in their order.
fn many(path: Option<&PathBuf>) -> Result<Vec<Object>, Failure> {
    let Some(path) = path else { return Ok(Vec::new()) };
    let loaded = files::load(&FileArgs { filenames: vec![path.clone()], ..FileArgs::default() })?;
    if let Some(problem) = loaded.problems.into_iter().next() {
        return Err(problem.into());
    }
    let bodies = loaded.objects.into_iter().map(|written| written.body);
    Ok(bodies.filter_map(|body| body.as_object().cloned()).collect())
}

/// The one object of a file.
fn single(path: &Path, what: &str) -> Result<Object, Failure> {
    let mut objects = many(Some(&path.to_owned()))?;
    match (objects.pop(), objects.is_empty()) {
        (Some(object), true) => Ok(object),
        (found, _) => {
            let count = objects.len() + usize::from(found.is_some());
            let title = format!("{} holds {count} objects instead of one: {what}", path.display());
            Err(Diagnostic::error(codes::RENDER_INPUT, title)
                .hint("Give each of XR, Composition and XRD a file of its own.")
                .into())
        }
    }
}

/// The documents in a file or folder, which need not be Kubernetes objects: OpenAPI documents are not.
fn documents(path: Option<&PathBuf>) -> Result<Vec<Object>, Failure> {
    let Some(path) = path else { return Ok(Vec::new()) };
    let unreadable = |path: &Path, error: std::io::Error| {
        Diagnostic::error(codes::FILE_UNREADABLE, format!("cannot read {}", path.display()))
            .detail(format!("The system says: {error}."))
    };
    let mut paths = if path.is_dir() {
        let entries = fs::read_dir(path).and_then(Iterator::collect::<std::io::Result<Vec<_>>>);
        let entries = entries.map_err(|error| unreadable(path, error))?;
        entries.into_iter().map(|entry| entry.path()).filter(|path| path.is_file()).collect()
    } else {
        vec![path.clone()]
    };
    paths.sort();
    let mut found = Vec::new();
    for path in paths {
        let bytes = fs::read(&path).map_err(|error| unreadable(&path, error))?;
        let source = manifest::decode(&path.display().to_string(), &bytes).map_err(Failure::Diagnostic)?;
        for document in manifest::read(&source, &manifest::Limits::default()).documents {
            match document {
                Ok(document) => found.extend(document.value().as_object().cloned()),
                Err(broken) => {
                    if let Some(problem) = broken.problems.into_iter().next() {
                        return Err(problem.into());
                    }
                }
            }
        }
    }
    Ok(found)
}

fn in_file(found: Vec<Diagnostic>, path: &Path) -> Failure {
    together(found, &path.display().to_string())
}

/// The first problem of one of the inputs, with the others in its detail.
pub(in crate::commands) fn together(found: Vec<Diagnostic>, place: &str) -> Failure {
    let mut found = found.into_iter();
    let Some(first) = found.next() else {
        return Diagnostic::error(codes::RENDER_INPUT, format!("{place} cannot be used")).into();
    };
    let others: Vec<String> = found.map(|other| format!("Also: {}.", other.summary)).collect();
    let detail = [vec![format!("It is in {place}.")], others].concat().join("\n");
    first.detail(detail).into()
}

pub(in crate::commands) fn secret(object: &Object) -> ((String, String), SecretData) {
    let namespace = object::namespace(object).unwrap_or_default().to_owned();
    let name = object::name(object).unwrap_or_default().to_owned();
    ((namespace, name), connection::data(object))
}

/// The context for the first step; values from the command line override files.
fn context(args: &Render) -> Result<Object, Failure> {
    let mut context = Object::new();
    for (key, path) in &args.context_files {
        let text = fs::read_to_string(path).map_err(|error| {
            Diagnostic::error(codes::FILE_UNREADABLE, format!("cannot read {path}"))
                .detail(format!("The system says: {error}."))
        })?;
        context.insert(key.clone(), parse(key, &text)?);
    }
    for (key, text) in &args.context_values {
        context.insert(key.clone(), parse(key, text)?);
    }
    Ok(context)
}

fn parse(key: &str, text: &str) -> Result<Value, Failure> {
    serde_json::from_str(text).map_err(|error| {
        Diagnostic::error(codes::RENDER_INPUT, format!("the context {key:?} is not JSON"))
            .detail(format!("The parser says: {error}."))
            .hint("Write a JSON value; a text is in double quotes.")
            .into()
    })
}
