//! Resources: the trait, and the requests and responses of its methods.

use tokio_util::sync::CancellationToken;

use super::{BoxFuture, Deferral};
use crate::codes;
use crate::diagnostics::Diagnostics;
use crate::json::{self, UndefinedAttributes};
use crate::path::Path;
use crate::private::Private;
use crate::schema::Schema;
use crate::types::Type;
use crate::value::{Object, Value, ValueError};

pub trait Resource: Send + Sync {
    /// With the provider's prefix: `k8sconnect_object`.
    fn type_name(&self) -> &str;

    fn schema(&self) -> Schema;

    /// The values that identify an instance permanently, if the resource supports identity.
    fn identity(&self) -> Option<IdentitySchema> {
        None
    }

    /// Validates the configuration beyond the schema's rules. Values may be unknown.
    fn validate(&self, config: &Object) -> Diagnostics {
        let _ = config;
        Diagnostics::new()
    }

    /// Plans a change. The request holds the plan of the schema alone: write-only values are null, computed ones unknown if
    /// anything changes, plan modifiers are applied.
    ///
    /// Terraform plans twice for an apply, and what was known the first time must be equal the second time.
    fn plan(&self, request: PlanRequest) -> BoxFuture<'_, PlanResponse> {
        Box::pin(async { request.accept() })
    }

    /// Creates, updates or deletes. Terraform saves the returned state even with an error: it says what exists after a
    /// failed create and what is left after a failed update or delete.
    fn apply(&self, request: ApplyRequest) -> BoxFuture<'_, ApplyResponse>;

    fn read(&self, request: ReadRequest) -> BoxFuture<'_, ReadResponse>;

    /// A read follows.
    fn import(&self, request: ImportRequest) -> BoxFuture<'_, ImportResponse> {
        let _ = request;
        Box::pin(async {
            let summary = "Resource Import Not Implemented";
            let refusal = diag::Diagnostic::error(codes::NO_IMPORT, summary)
                .detail("This resource does not support import.")
                .hint("Remove the import and let the next apply create the resource.");
            ImportResponse { imported: None, diagnostics: refusal.into() }
        })
    }

    /// The configuration of an imported resource, from its state. By default the state without what is computed,
    /// deprecated, or an optional empty text, which is what Terraform does without this call.
    fn generate_config(&self, request: GenerateRequest) -> BoxFuture<'_, GenerateResponse> {
        Box::pin(async move {
            let config = self.schema().configurable(request.state);
            GenerateResponse { config: Some(config), diagnostics: Diagnostics::new() }
        })
    }

    /// Upgrades a state of another schema version. A state of the current version is read as it is.
    fn upgrade(&self, request: UpgradeRequest) -> BoxFuture<'_, UpgradeResponse> {
        Box::pin(async move {
            let refusal = diag::Diagnostic::error(codes::NO_UPGRADE, "Unable to Upgrade Resource State")
                .detail(format!("This provider cannot read states of schema version {}.", request.version))
                .hint("Apply once with an intermediate version of the provider, then upgrade again.");
            UpgradeResponse { state: None, diagnostics: refusal.into() }
        })
    }

    /// Converts the state of another resource type, for a `moved` block; `None` if that type is not supported.
    fn move_state(&self, request: MoveRequest) -> BoxFuture<'_, Option<MoveResponse>> {
        let _ = request;
        Box::pin(async { None })
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Change {
    Create {
        planned: Object,
    },
    /// In a plan possibly without a difference.
    Update {
        prior: Object,
        planned: Object,
    },
    Delete {
        prior: Object,
    },
}

impl Change {
    pub fn prior(&self) -> Option<&Object> {
        match self {
            Self::Create { .. } => None,
            Self::Update { prior, .. } | Self::Delete { prior } => Some(prior),
        }
    }

    pub fn planned(&self) -> Option<&Object> {
        match self {
            Self::Create { planned } | Self::Update { planned, .. } => Some(planned),
            Self::Delete { .. } => None,
        }
    }

    pub fn into_planned(self) -> Option<Object> {
        match self {
            Self::Create { planned } | Self::Update { planned, .. } => Some(planned),
            Self::Delete { .. } => None,
        }
    }
}

/// The values that identify a resource permanently.
pub type Identity = Object;

#[derive(Clone, Debug)]
pub struct IdentitySchema {
    pub version: i64,
    pub attributes: Vec<IdentityAttribute>,
}

#[derive(Clone, Debug)]
pub struct IdentityAttribute {
    pub name: String,
    /// A primitive, or a list of primitives.
    pub ty: Type,
    /// Otherwise it is optional for import.
    pub required_for_import: bool,
    /// Markdown.
    pub description: String,
}

impl IdentitySchema {
    pub fn ty(&self) -> Type {
        Type::object(self.attributes.iter().map(|attribute| (&attribute.name, attribute.ty.clone())))
    }
}

#[derive(Debug)]
pub struct PlanRequest {
    /// As planned by the schema alone.
    pub change: Change,
    /// `None` when deleting.
    pub config: Option<Object>,
    /// From the schema's plan modifiers.
    pub requires_replace: Vec<Path>,
    pub private: Private,
    pub identity: Option<Identity>,
    /// Whether the client accepts [`PlanResponse::deferred`].
    pub deferral_allowed: bool,
    /// Cancelled by StopProvider.
    pub stop: CancellationToken,
}

impl PlanRequest {
    /// Accepts the plan of the schema alone.
    pub fn accept(self) -> PlanResponse {
        PlanResponse {
            planned: self.change.into_planned(),
            requires_replace: self.requires_replace,
            private: self.private,
            identity: self.identity,
            ..PlanResponse::default()
        }
    }
}

#[derive(Debug, Default)]
pub struct PlanResponse {
    /// `None` when deleting.
    pub planned: Option<Object>,
    pub requires_replace: Vec<Path>,
    /// Passed to the apply.
    pub private: Private,
    /// If known by now.
    pub identity: Option<Identity>,
    /// The change has to be planned again, when more is known.
    pub deferred: Option<Deferral>,
    pub diagnostics: Diagnostics,
}

#[derive(Debug)]
pub struct ApplyRequest {
    pub change: Change,
    /// Includes write-only values; `None` when deleting.
    pub config: Option<Object>,
    /// From the plan.
    pub private: Private,
    /// From the plan.
    pub identity: Option<Identity>,
    /// Cancelled by StopProvider.
    pub stop: CancellationToken,
}

#[derive(Debug, Default)]
pub struct ApplyResponse {
    /// `None` once the resource is deleted.
    pub state: Option<Object>,
    pub private: Private,
    /// Defaults to the planned one.
    pub identity: Option<Identity>,
    pub diagnostics: Diagnostics,
}

#[derive(Debug)]
pub struct ReadRequest {
    pub state: Object,
    pub private: Private,
    pub identity: Option<Identity>,
    /// Cancelled by StopProvider.
    pub stop: CancellationToken,
}

impl ReadRequest {
    pub fn unchanged(self) -> ReadResponse {
        ReadResponse {
            state: Some(self.state),
            private: self.private,
            identity: self.identity,
            diagnostics: Diagnostics::new(),
        }
    }
}

#[derive(Debug, Default)]
pub struct ReadResponse {
    /// `None` if the resource no longer exists.
    pub state: Option<Object>,
    pub private: Private,
    /// Defaults to the current one.
    pub identity: Option<Identity>,
    pub diagnostics: Diagnostics,
}

#[derive(Debug)]
pub struct ImportRequest {
    pub target: ImportTarget,
    /// Cancelled by StopProvider.
    pub stop: CancellationToken,
}

#[derive(Debug)]
pub struct GenerateRequest {
    /// As it was read.
    pub state: Object,
    /// Cancelled by StopProvider.
    pub stop: CancellationToken,
}

#[derive(Debug, Default)]
pub struct GenerateResponse {
    /// `None` only with an error.
    pub config: Option<Object>,
    pub diagnostics: Diagnostics,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ImportTarget {
    Id(String),
    /// At least what is required for import.
    Identity(Identity),
}

#[derive(Debug, Default)]
pub struct ImportResponse {
    /// `None` only with an error.
    pub imported: Option<Imported>,
    pub diagnostics: Diagnostics,
}

/// What is known of an imported resource before it is read.
#[derive(Debug, Default)]
pub struct Imported {
    pub state: Object,
    pub private: Private,
    pub identity: Option<Identity>,
}

#[derive(Debug)]
pub struct UpgradeRequest {
    /// Of the schema the state was written with.
    pub version: i64,
    pub state: RawState,
}

#[derive(Debug, Default)]
pub struct UpgradeResponse {
    /// `None` only with an error.
    pub state: Option<Object>,
    pub diagnostics: Diagnostics,
}

#[derive(Debug)]
pub struct MoveRequest {
    /// For instance `registry.terraform.io/hashicorp/kubernetes`.
    pub source_provider: String,
    pub source_type: String,
    pub source_version: i64,
    pub source_state: RawState,
    /// In the format of the source provider.
    pub source_private: Vec<u8>,
    /// Cancelled by StopProvider.
    pub stop: CancellationToken,
}

#[derive(Debug, Default)]
pub struct MoveResponse {
    /// `None` only with an error.
    pub state: Option<Object>,
    pub private: Private,
    pub identity: Option<Identity>,
    pub diagnostics: Diagnostics,
}

/// A state in the JSON of another schema.
#[derive(Clone, PartialEq, Eq)]
pub struct RawState(pub(crate) Vec<u8>);

impl RawState {
    pub fn json(&self) -> &[u8] {
        &self.0
    }

    /// Absent attributes are null, undefined ones are dropped.
    pub fn decode(&self, ty: &Type) -> Result<Object, ValueError> {
        match json::decode(&self.0, ty, UndefinedAttributes::Ignore)? {
            Value::Object(object) => Ok(object),
            _ => Err(ValueError { path: Path::root(), problem: "expected an object".to_owned() }),
        }
    }
}

/// Shows the length only; the content may be secret.
impl std::fmt::Debug for RawState {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "RawState({} bytes)", self.0.len())
    }
}
