//! What a provider manages.

use tokio_util::sync::CancellationToken;

use super::BoxFuture;
use crate::codes;
use crate::diagnostics::Diagnostics;
use crate::json::{self, JsonError, Undefined};
use crate::path::Path;
use crate::private::Private;
use crate::schema::Schema;
use crate::types::Type;
use crate::value::Object;

/// A type of resource.
pub trait Resource: Send + Sync {
    /// Its type, with the provider's prefix: `k8sconnect_object`.
    fn type_name(&self) -> &str;

    /// Its attributes.
    fn schema(&self) -> Schema;

    /// What identifies one of its instances for good; none if that is not supported.
    fn identity(&self) -> Option<IdentitySchema> {
        None
    }

    /// Checks the configuration, in addition to the schema's own rules. Values may still be unknown.
    fn validate(&self, config: &Object) -> Diagnostics {
        let _ = config;
        Diagnostics::new()
    }

    /// Says what an apply would do. The request holds what the schema alone gives: defaults are in place, computed values
    /// are unknown if anything changes, plan modifiers have been applied.
    ///
    /// Terraform plans twice for an apply, and what was known the first time has to come out equal the second time.
    fn plan(&self, request: PlanRequest) -> BoxFuture<'_, PlanResponse> {
        Box::pin(async { request.accept() })
    }

    /// Creates, updates or deletes. With an error, the state that is returned is saved all the same: after a failed
    /// create that says what exists, after a failed update or delete what is left.
    fn apply(&self, request: ApplyRequest) -> BoxFuture<'_, ApplyResponse>;

    /// Looks how the resource is now.
    fn read(&self, request: ReadRequest) -> BoxFuture<'_, ReadResponse>;

    /// Takes an existing resource into the state; a read follows.
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

    /// Brings a state of another schema version to the present one. (A state of the present version is read as it is.)
    fn upgrade(&self, request: UpgradeRequest) -> BoxFuture<'_, UpgradeResponse> {
        Box::pin(async move {
            let refusal = diag::Diagnostic::error(codes::NO_UPGRADE, "Unable to Upgrade Resource State")
                .detail(format!("This provider cannot read states of schema version {}.", request.version))
                .hint("Apply once with a version of the provider in between, then upgrade again.");
            UpgradeResponse { state: None, diagnostics: refusal.into() }
        })
    }

    /// Takes over the state of a resource of another type, named by a `moved` block; none if it cannot.
    fn take_over(&self, request: MoveRequest) -> BoxFuture<'_, Option<MoveResponse>> {
        let _ = request;
        Box::pin(async { None })
    }
}

/// What is to happen to a resource.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Change {
    /// It does not exist, and shall.
    Create {
        /// How it shall be.
        planned: Object,
    },
    /// It exists, and shall be different; or, in a plan, perhaps stay as it is.
    Update {
        /// How it is.
        prior: Object,
        /// How it shall be.
        planned: Object,
    },
    /// It exists, and shall not.
    Delete {
        /// How it is.
        prior: Object,
    },
}

impl Change {
    /// How the resource is; none if it does not exist.
    pub fn prior(&self) -> Option<&Object> {
        match self {
            Self::Create { .. } => None,
            Self::Update { prior, .. } | Self::Delete { prior } => Some(prior),
        }
    }

    /// How the resource shall be; none if it shall not exist.
    pub fn planned(&self) -> Option<&Object> {
        match self {
            Self::Create { planned } | Self::Update { planned, .. } => Some(planned),
            Self::Delete { .. } => None,
        }
    }

    /// How the resource shall be, to keep.
    pub fn into_planned(self) -> Option<Object> {
        match self {
            Self::Create { planned } | Self::Update { planned, .. } => Some(planned),
            Self::Delete { .. } => None,
        }
    }
}

/// The values by which a resource is found again, for good.
pub type Identity = Object;

/// What identifies a resource.
#[derive(Clone, Debug)]
pub struct IdentitySchema {
    /// Counts the changes to it.
    pub version: i64,
    /// Its attributes.
    pub attributes: Vec<IdentityAttribute>,
}

/// One of the values by which a resource is found.
#[derive(Clone, Debug)]
pub struct IdentityAttribute {
    /// Its name.
    pub name: String,
    /// Its type: a primitive, or a list of primitives.
    pub ty: Type,
    /// Whether an import has to give it; otherwise it may.
    pub required_for_import: bool,
    /// What it means, in Markdown.
    pub description: String,
}

impl IdentitySchema {
    /// The type of the values.
    pub fn ty(&self) -> Type {
        Type::object(self.attributes.iter().map(|attribute| (&attribute.name, attribute.ty.clone())))
    }
}

/// A request to plan.
#[derive(Debug)]
pub struct PlanRequest {
    /// What is to happen, as far as the schema alone can say.
    pub change: Change,
    /// The configuration; none when deleting.
    pub config: Option<Object>,
    /// Attributes whose change means another resource, by the schema's plan modifiers.
    pub requires_replace: Vec<Path>,
    /// What the resource keeps for itself.
    pub private: Private,
    /// The identity so far.
    pub identity: Option<Identity>,
    /// Cancelled when Terraform wants the provider to stop.
    pub stop: CancellationToken,
}

impl PlanRequest {
    /// The plan that the schema alone gives.
    pub fn accept(self) -> PlanResponse {
        PlanResponse {
            planned: self.change.into_planned(),
            requires_replace: self.requires_replace,
            private: self.private,
            identity: self.identity,
            diagnostics: Diagnostics::new(),
        }
    }
}

/// A plan.
#[derive(Debug, Default)]
pub struct PlanResponse {
    /// How the resource shall be; none when deleting.
    pub planned: Option<Object>,
    /// Attributes whose change means another resource.
    pub requires_replace: Vec<Path>,
    /// What the resource keeps for itself; the apply gets it.
    pub private: Private,
    /// The identity, if it is known by now.
    pub identity: Option<Identity>,
    /// What there is to tell.
    pub diagnostics: Diagnostics,
}

/// A request to do what was planned.
#[derive(Debug)]
pub struct ApplyRequest {
    /// What is to happen.
    pub change: Change,
    /// The configuration, with its write-only values; none when deleting.
    pub config: Option<Object>,
    /// What the plan kept.
    pub private: Private,
    /// The planned identity.
    pub identity: Option<Identity>,
    /// Cancelled when Terraform wants the provider to stop.
    pub stop: CancellationToken,
}

/// What became of it.
#[derive(Debug, Default)]
pub struct ApplyResponse {
    /// How the resource is now; none once it is gone.
    pub state: Option<Object>,
    /// What the resource keeps for itself.
    pub private: Private,
    /// The identity; without one the planned one stays.
    pub identity: Option<Identity>,
    /// What there is to tell.
    pub diagnostics: Diagnostics,
}

/// A request to look.
#[derive(Debug)]
pub struct ReadRequest {
    /// How the resource was.
    pub state: Object,
    /// What the resource keeps for itself.
    pub private: Private,
    /// The identity so far.
    pub identity: Option<Identity>,
    /// Cancelled when Terraform wants the provider to stop.
    pub stop: CancellationToken,
}

impl ReadRequest {
    /// Nothing has changed.
    pub fn unchanged(self) -> ReadResponse {
        ReadResponse {
            state: Some(self.state),
            private: self.private,
            identity: self.identity,
            diagnostics: Diagnostics::new(),
        }
    }
}

/// What there is.
#[derive(Debug, Default)]
pub struct ReadResponse {
    /// How the resource is; none if it is gone.
    pub state: Option<Object>,
    /// What the resource keeps for itself.
    pub private: Private,
    /// The identity; without one the present one stays.
    pub identity: Option<Identity>,
    /// What there is to tell.
    pub diagnostics: Diagnostics,
}

/// A request to take an existing resource into the state.
#[derive(Debug)]
pub struct ImportRequest {
    /// Which one.
    pub target: ImportTarget,
    /// Cancelled when Terraform wants the provider to stop.
    pub stop: CancellationToken,
}

/// How the resource to import is named.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ImportTarget {
    /// By a text.
    Id(String),
    /// By its identity, of which only what is required for import has to be there.
    Identity(Identity),
}

/// What was imported.
#[derive(Debug, Default)]
pub struct ImportResponse {
    /// The resource; none only with an error.
    pub imported: Option<Imported>,
    /// What there is to tell.
    pub diagnostics: Diagnostics,
}

/// An imported resource, as far as it is known before the read.
#[derive(Debug, Default)]
pub struct Imported {
    /// Its attributes.
    pub state: Object,
    /// What the resource keeps for itself.
    pub private: Private,
    /// Its identity.
    pub identity: Option<Identity>,
}

/// A request to bring a state to the present schema.
#[derive(Debug)]
pub struct UpgradeRequest {
    /// The schema version the state has.
    pub version: i64,
    /// The state.
    pub state: RawState,
}

/// The state, brought to the present schema.
#[derive(Debug, Default)]
pub struct UpgradeResponse {
    /// The attributes; none only with an error.
    pub state: Option<Object>,
    /// What there is to tell.
    pub diagnostics: Diagnostics,
}

/// A request to take over the state of a resource of another type.
#[derive(Debug)]
pub struct MoveRequest {
    /// Whose type that is: `registry.terraform.io/hashicorp/kubernetes`.
    pub source_provider: String,
    /// The type.
    pub source_type: String,
    /// Its schema version.
    pub source_version: i64,
    /// Its state.
    pub source_state: RawState,
    /// What it kept for itself; its own provider alone knows how to read that.
    pub source_private: Vec<u8>,
    /// Cancelled when Terraform wants the provider to stop.
    pub stop: CancellationToken,
}

/// The state that was taken over.
#[derive(Debug, Default)]
pub struct MoveResponse {
    /// The attributes; none only with an error.
    pub state: Option<Object>,
    /// What the resource keeps for itself.
    pub private: Private,
    /// Its identity.
    pub identity: Option<Identity>,
    /// What there is to tell.
    pub diagnostics: Diagnostics,
}

/// A state in JSON, of a schema that Terraform does not know.
#[derive(Clone, PartialEq, Eq)]
pub struct RawState(pub(crate) Vec<u8>);

impl RawState {
    /// The JSON text.
    pub fn json(&self) -> &[u8] {
        &self.0
    }

    /// The state as an object of type `ty`: absent attributes are null, others are left out.
    pub fn decode(&self, ty: &Type) -> Result<Object, JsonError> {
        match json::decode(&self.0, ty, Undefined::Ignore)? {
            crate::value::Value::Object(object) => Ok(object),
            _ => Err(JsonError { path: Path::root(), problem: "expected an object".to_owned() }),
        }
    }
}

/// Says how long it is; the content may be secret.
impl std::fmt::Debug for RawState {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "RawState({} bytes)", self.0.len())
    }
}
