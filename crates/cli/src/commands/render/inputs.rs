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
use diag::{Diagnostic, Source};
use manifest::Limits;
use serde_json::Value;

use crate::args::render::Render;
use crate::codes;
use crate::support::exit::Failure;
use crate::support::files;

pub(crate) struct Inputs {
    pub(crate) xr: Object,
    pub(crate) composition: Composition,
    pub(crate) definition: Option<Definition>,
    pub(crate) functions: Vec<Function>,
    pub(crate) observed: Vec<Object>,
    pub(crate) required: Vec<Object>,
    pub(crate) schemas: Vec<Object>,
    /// Secrets by namespace and name.
    pub(crate) credentials: BTreeMap<(String, String), SecretData>,
    pub(crate) context: Object,
    /// Problems that do not stop the rendering.
    pub(crate) warnings: Vec<Diagnostic>,
}

impl Inputs {
    /// Reads the files, and reports all problems of a file at once.
    pub(crate) fn read(args: &Render) -> Result<Self, Failure> {
        let xr = single(&args.composite, "the composite resource")?;
        let composition = single(&args.composition, "the Composition")?;
        let composition =
            Composition::read(&composition).map_err(|found| in_file(found, &args.composition))?;
        if composition.spec.pipeline.is_empty() {
            let title = format!("the pipeline in {} has no steps", args.composition.display());
            return Err(Diagnostic::error(codes::RENDER_INPUT, title)
                .hint("List the functions to run under spec.pipeline.")
                .into());
        }
        let xrd = args.xrd.as_ref();
        let place = xrd.map(|path| path.display().to_string()).unwrap_or_default();
        let xrd = xrd.map(|path| single(path, "the CompositeResourceDefinition")).transpose()?;
        let (definition, warnings) = definition(xrd.as_ref(), &place)?;
        let read = |mut object: Object| {
            let annotations = object::nested_mut(&mut object, &["metadata", "annotations"]);
            annotations.extend(
                args.function_annotations.iter().map(|(key, value)| (key.clone(), value.as_str().into())),
            );
            Function::read(&object).map_err(|found| in_file(vec![*found], &args.functions))
        };
        let functions = many(Some(&args.functions))?.into_iter().map(read).collect::<Result<_, _>>()?;
        let required = args.required_resources.iter().map(|path| many(Some(path)));
        Ok(Self {
            xr,
            composition,
            definition,
            functions,
            observed: documents(args.observed_resources.as_ref())?.into_iter().flat_map(items).collect(),
            required: required.collect::<Result<Vec<_>, _>>()?.concat(),
            schemas: documents(args.required_schemas.as_ref())?,
            credentials: many(args.function_credentials.as_ref())?.iter().map(secret).collect(),
            context: context(args)?,
            warnings,
        })
    }
}

/// The definition of the XR, and warnings about it. `place` is where it comes from.
pub(crate) fn definition(
    xrd: Option<&Object>,
    place: &str,
) -> Result<(Option<Definition>, Vec<Diagnostic>), Failure> {
    let Some(xrd) = xrd else { return Ok((None, Vec::new())) };
    let (definition, warnings) = Definition::read(xrd).map_err(|found| together(found, place))?;
    Ok((Some(definition), warnings))
}

/// The objects in a file or folder, in their order.
fn many(path: Option<&PathBuf>) -> Result<Vec<Object>, Failure> {
    let Some(path) = path else { return Ok(Vec::new()) };
    let loaded = files::load_path(path)?;
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
            let title = format!("{} has {count} objects; expected one, {what}", path.display());
            Err(Diagnostic::error(codes::RENDER_INPUT, title)
                .hint("Put the XR, the Composition and the XRD into separate files.")
                .into())
        }
    }
}

/// The items of a list, or the object itself.
fn items(mut object: Object) -> Vec<Object> {
    let is_list = object::text(&object, &["kind"]).is_some_and(|kind| kind.ends_with("List"));
    match object.remove("items") {
        Some(Value::Array(items)) if is_list => items.into_iter().map(object::from_value).collect(),
        Some(items) => {
            object.insert("items".to_owned(), items);
            vec![object]
        }
        None => vec![object],
    }
}

/// The documents in a file or folder, which need not be whole objects: OpenAPI documents are none, and an observed object may have no
/// name. Empty documents are left out.
fn documents(path: Option<&PathBuf>) -> Result<Vec<Object>, Failure> {
    let Some(path) = path else { return Ok(Vec::new()) };
    let mut found = Vec::new();
    for source in files::sources(path, false)? {
        let documents = manifest::read(&source, &Limits::default()).all();
        let documents = documents.map_err(|mut problems| problems.swap_remove(0))?;
        let objects = documents.iter().filter_map(|document| document.value().as_object().cloned());
        found.extend(objects.filter(|object| !object.is_empty()));
    }
    Ok(found)
}

fn in_file(found: Vec<Diagnostic>, path: &Path) -> Failure {
    together(found, &path.display().to_string())
}

/// The first problem of one of the inputs, with the others in its detail.
pub(crate) fn together(found: Vec<Diagnostic>, place: &str) -> Failure {
    let mut found = found.into_iter();
    let Some(first) = found.next() else {
        return Diagnostic::error(codes::RENDER_INPUT, format!("{place} is invalid")).into();
    };
    let others: Vec<String> = found.map(|other| format!("Also: {}.", other.summary)).collect();
    let detail = [vec![format!("Found in {place}.")], others].concat().join("\n");
    first.detail(detail).into()
}

pub(crate) fn secret(object: &Object) -> ((String, String), SecretData) {
    let namespace = object::namespace(object).unwrap_or_default().to_owned();
    let name = object::name(object).unwrap_or_default().to_owned();
    ((namespace, name), connection::data(object))
}

/// The context for the first step; values from the command line override files.
fn context(args: &Render) -> Result<Object, Failure> {
    let mut context = Object::new();
    for (key, path) in &args.context_files {
        let text = fs::read_to_string(path).map_err(|error| files::unreadable(Path::new(path), &error))?;
        context.insert(key.clone(), parse(key, &text)?);
    }
    for (key, text) in &args.context_values {
        context.insert(key.clone(), parse(key, text)?);
    }
    Ok(context)
}

/// JSON, or YAML, of which it is a part.
fn parse(key: &str, text: &str) -> Result<Value, Failure> {
    let source = Source::new(format!("the context {key:?}"), text);
    let read = manifest::read(&source, &Limits::default()).single();
    let document = read.map_err(|mut problems| problems.swap_remove(0))?;
    Ok(document.into_value())
}
