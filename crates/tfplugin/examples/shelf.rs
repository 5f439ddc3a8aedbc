//! A small provider that stores notes as files in a folder, the shelf, and uses every feature of a resource.
//!
//! The tests in `tests/terraform.rs` run it with a real `terraform`.

use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::{Arc, OnceLock};

use diag::{Code, Diagnostic};
use tfplugin::diagnostics::Diagnostics;
use tfplugin::path::Path;
use tfplugin::private::Private;
use tfplugin::provider::{
    ApplyRequest, ApplyResponse, BoxFuture, Change, ConfigureRequest, DataSource, EphemeralResource,
    Function, FunctionError, IdentityAttribute, IdentitySchema, ImportRequest, ImportResponse, ImportTarget,
    Imported, MoveRequest, MoveResponse, OpenRequest, OpenResponse, Parameter, PlanRequest, PlanResponse,
    Provider, ReadDataRequest, ReadDataResponse, ReadRequest, ReadResponse, Resource, Signature,
    UpgradeRequest, UpgradeResponse,
};
use tfplugin::schema::{Attribute, Kind, Schema};
use tfplugin::types::Type;
use tfplugin::value::{Object, Refinement, Value};

fn main() -> ExitCode {
    tfplugin::serve("registry.terraform.io/acme/shelf", || Arc::new(Shelf::default()))
}

const LOUD: Code = Code::new("loud-note", "Notes are easier to read in lower case.");
const DAMAGED: Code = Code::new("damaged-note", "The file of a note was changed by another program.");

/// The provider, which shares its configuration with its resources.
#[derive(Default)]
struct Shelf(Arc<OnceLock<PathBuf>>);

impl Provider for Shelf {
    fn schema(&self) -> Schema {
        let folder = Attribute::required("folder", Type::String).description("The folder of the notes.");
        Schema::new().description("Notes on a shelf.").attribute(folder)
    }

    fn configure(&self, request: ConfigureRequest) -> BoxFuture<'_, Diagnostics> {
        Box::pin(async move {
            if let Some(folder) = request.config.text("folder") {
                // Terraform configures a process once.
                let _ = self.0.set(folder.into());
            }
            Diagnostics::new()
        })
    }

    fn resources(&self) -> Vec<Arc<dyn Resource>> {
        vec![Arc::new(Note(self.0.clone())), Arc::new(Scrap)]
    }

    fn data_sources(&self) -> Vec<Arc<dyn DataSource>> {
        vec![Arc::new(Notes(self.0.clone()))]
    }

    fn ephemeral_resources(&self) -> Vec<Arc<dyn EphemeralResource>> {
        vec![Arc::new(Password)]
    }

    fn functions(&self) -> Vec<Arc<dyn Function>> {
        vec![Arc::new(Abbreviate)]
    }
}

/// A note, stored in a file of its name.
struct Note(Arc<OnceLock<PathBuf>>);

impl Note {
    fn file(&self, note: &Object) -> PathBuf {
        self.0
            .get()
            .expect("Terraform configures the provider first")
            .join(note.text("name").expect("required"))
    }

    fn state(planned: &Object) -> Object {
        let text = planned.text("text").unwrap_or_default();
        let mut state = planned.clone();
        state.set("id", format!("note-{}", planned.text("name").unwrap_or_default()));
        state.set("length", i64::try_from(text.chars().count()).unwrap_or(i64::MAX));
        let words: Vec<Value> = text.split_whitespace().map(Value::from).collect();
        state.set("words", Value::dynamic(words.into()));
        if let Some(cover) = planned.get("cover").as_object() {
            state.set(
                "cover",
                cover.clone().with("seal", format!("sealed by {}", cover.text("colour").unwrap_or("blue"))),
            );
        }
        state
    }
}

impl Resource for Note {
    fn type_name(&self) -> &'static str {
        "shelf_note"
    }

    fn schema(&self) -> Schema {
        let cover = Kind::nested([
            Attribute::optional("colour", Type::String),
            Attribute::computed("seal", Type::String),
        ]);
        Schema::new()
            .version(1)
            .description("A note on the shelf.")
            .attribute(Attribute::computed("id", Type::String).use_state_for_unknown())
            .attribute(Attribute::required("name", Type::String).requires_replace().validate(not_empty))
            .attribute(Attribute::required("text", Type::String).description("The content of the note."))
            .attribute(Attribute::optional("password", Type::String).write_only())
            .attribute(Attribute::optional("tags", Type::map(Type::String)))
            .attribute(Attribute::optional("cover", cover))
            .attribute(Attribute::computed("length", Type::Number))
            .attribute(Attribute::computed("words", Type::Dynamic))
    }

    fn identity(&self) -> Option<IdentitySchema> {
        let name = IdentityAttribute {
            name: "name".to_owned(),
            ty: Type::String,
            required_for_import: true,
            description: "The name of the note.".to_owned(),
        };
        Some(IdentitySchema { version: 0, attributes: vec![name] })
    }

    fn plan(&self, request: PlanRequest) -> BoxFuture<'_, PlanResponse> {
        Box::pin(async move {
            let mut response = request.accept();
            let Some(planned) = &mut response.planned else { return response };
            if planned.get("id").is_unknown() {
                planned.set("id", Value::unknown_with(Refinement::prefix("note-")));
            }
            if let Some(text) = planned.text("text")
                && text.chars().any(char::is_alphabetic)
                && text == text.to_uppercase()
            {
                let warning = Diagnostic::warning(LOUD, "The note is loud")
                    .detail("All its letters are capitals.")
                    .hint("Write it in lower case.");
                response.diagnostics.add_at(Path::of("text"), warning);
            }
            response
        })
    }

    fn apply(&self, request: ApplyRequest) -> BoxFuture<'_, ApplyResponse> {
        Box::pin(async move {
            let mut private = request.private;
            let planned = match &request.change {
                Change::Delete { prior } => {
                    std::fs::remove_file(self.file(prior)).expect("the note exists");
                    return ApplyResponse::default();
                }
                Change::Create { planned } | Change::Update { planned, .. } => planned,
            };
            if let Some(password) = request.config.as_ref().and_then(|config| config.text("password")) {
                tracing::info!(letters = password.chars().count(), "sealed a note");
                std::fs::write(self.file(planned).with_extension("sealed"), password)
                    .expect("the shelf exists");
            }
            assert_ne!(planned.text("text"), Some("the end of the world"), "this text cannot be written");
            std::fs::write(self.file(planned), planned.text("text").unwrap_or_default())
                .expect("the shelf exists");
            let edition = private.get_as::<i64>("edition").unwrap_or(0) + 1;
            private.set("edition", &edition);
            tracing::info!(edition, "wrote a note");
            ApplyResponse {
                state: Some(Self::state(planned)),
                identity: Some(Object::from([("name", planned.get("name").clone())])),
                private,
                diagnostics: Diagnostics::new(),
            }
        })
    }

    fn read(&self, request: ReadRequest) -> BoxFuture<'_, ReadResponse> {
        Box::pin(async move {
            let mut response = request.unchanged();
            let state = response.state.take().expect("a read has a state");
            match std::fs::read(self.file(&state)).map(String::from_utf8) {
                Ok(Ok(text)) => {
                    response.identity = Some(Object::from([("name", state.get("name").clone())]));
                    response.state = Some(Self::state(&state.with("text", text)));
                }
                Ok(Err(_)) => {
                    response.diagnostics.add(Diagnostic::error(DAMAGED, "The note is not text"));
                    response.state = Some(state);
                }
                Err(_) => {}
            }
            response
        })
    }

    fn import(&self, request: ImportRequest) -> BoxFuture<'_, ImportResponse> {
        Box::pin(async move {
            let name = match request.target {
                ImportTarget::Id(id) => id,
                ImportTarget::Identity(identity) => identity.text("name").unwrap_or_default().to_owned(),
            };
            let identity = Some(Object::from([("name", name.as_str())]));
            let state = Object::from([("name", name)]);
            let imported = Some(Imported { state, private: Private::default(), identity });
            ImportResponse { imported, diagnostics: Diagnostics::new() }
        })
    }

    /// In version 0, the text was called `content`.
    fn upgrade(&self, request: UpgradeRequest) -> BoxFuture<'_, UpgradeResponse> {
        Box::pin(async move {
            let old = Type::object([("name", Type::String), ("content", Type::String)]);
            let decoded = request.state.decode(&old).expect("a state of version 0");
            let state = Object::from([
                ("name", decoded.get("name").clone()),
                ("text", decoded.get("content").clone()),
            ]);
            UpgradeResponse { state: Some(Self::state(&state)), diagnostics: Diagnostics::new() }
        })
    }

    fn move_state(&self, request: MoveRequest) -> BoxFuture<'_, Option<MoveResponse>> {
        Box::pin(async move {
            if request.source_type != "shelf_scrap" {
                return None;
            }
            let scrap = request.source_state.decode(&Scrap.schema().ty()).expect("the state of a scrap");
            let state = Object::from([("name", scrap.get("title").clone()), ("text", Value::from(""))]);
            Some(MoveResponse { state: Some(state), ..MoveResponse::default() })
        })
    }
}

fn not_empty(value: &Value, _path: &Path) -> Diagnostics {
    match value.as_str() {
        Some("") => Diagnostic::error(DAMAGED, "A note needs a name").into(),
        _ => Diagnostics::new(),
    }
}

/// A title and nothing else; a `moved` block turns it into a note.
struct Scrap;

impl Resource for Scrap {
    fn type_name(&self) -> &'static str {
        "shelf_scrap"
    }

    fn schema(&self) -> Schema {
        Schema::new().attribute(Attribute::required("title", Type::String))
    }

    fn apply(&self, request: ApplyRequest) -> BoxFuture<'_, ApplyResponse> {
        Box::pin(async { ApplyResponse { state: request.change.into_planned(), ..ApplyResponse::default() } })
    }

    fn read(&self, request: ReadRequest) -> BoxFuture<'_, ReadResponse> {
        Box::pin(async { request.unchanged() })
    }
}

/// A password that is in no plan and no state.
struct Password;

impl EphemeralResource for Password {
    fn type_name(&self) -> &'static str {
        "shelf_password"
    }

    fn schema(&self) -> Schema {
        Schema::new()
            .attribute(Attribute::required("hint", Type::String))
            .attribute(Attribute::computed("value", Type::String))
    }

    fn open(&self, request: OpenRequest) -> BoxFuture<'_, OpenResponse> {
        Box::pin(async move {
            let value = format!("hunter{}", request.config.text("hint").unwrap_or_default());
            OpenResponse { result: Some(request.config.with("value", value)), ..OpenResponse::default() }
        })
    }
}

/// The first letters of a text.
struct Abbreviate;

impl Function for Abbreviate {
    fn name(&self) -> &'static str {
        "abbreviate"
    }

    fn signature(&self) -> Signature {
        let parameter =
            |name: &str, ty: Type| Parameter { name: name.to_owned(), ty, description: String::new() };
        Signature {
            summary: "The first letters of a text.".to_owned(),
            description: String::new(),
            parameters: vec![parameter("text", Type::String), parameter("letters", Type::Number)],
            result: Type::String,
        }
    }

    fn call(&self, arguments: Vec<Value>) -> Result<Value, FunctionError> {
        let text = arguments[0].as_str().unwrap_or_default();
        let letters =
            usize::try_from(arguments[1].as_i64().unwrap_or_default()).map_err(|_| FunctionError {
                argument: Some(1),
                diagnostic: Box::new(Diagnostic::error(DAMAGED, "A number of letters is not negative")),
            })?;
        Ok(Value::from(text.chars().take(letters).collect::<String>()))
    }
}

/// The names of all notes.
struct Notes(Arc<OnceLock<PathBuf>>);

impl DataSource for Notes {
    fn type_name(&self) -> &'static str {
        "shelf_notes"
    }

    fn schema(&self) -> Schema {
        Schema::new().attribute(Attribute::computed("names", Type::set(Type::String)))
    }

    fn read(&self, _: ReadDataRequest) -> BoxFuture<'_, ReadDataResponse> {
        Box::pin(async {
            let folder = self.0.get().expect("Terraform configures the provider first");
            let files = std::fs::read_dir(folder).into_iter().flatten().flatten();
            let names: Vec<Value> =
                files.map(|file| file.file_name().to_string_lossy().into_owned().into()).collect();
            ReadDataResponse {
                state: Some(Object::from([("names", Value::set(names))])),
                ..ReadDataResponse::default()
            }
        })
    }
}
