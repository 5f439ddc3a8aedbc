//! Functions: pure, so they need no configured provider.

use diag::Diagnostic;

use crate::types::Type;
use crate::value::Value;

pub trait Function: Send + Sync {
    /// Without the provider's prefix: `provider::k8sconnect::encode` is `encode`.
    fn name(&self) -> &str;

    fn signature(&self) -> Signature;

    /// `arguments` has a wholly known value, never null, for each parameter. The same arguments must give the same result.
    fn call(&self, arguments: Vec<Value>) -> Result<Value, FunctionError>;
}

#[derive(Clone, Debug)]
pub struct Signature {
    /// One sentence.
    pub summary: String,
    /// Markdown.
    pub description: String,
    pub parameters: Vec<Parameter>,
    pub result: Type,
}

#[derive(Clone, Debug)]
pub struct Parameter {
    pub name: String,
    pub ty: Type,
    /// Markdown.
    pub description: String,
}

#[derive(Debug)]
pub struct FunctionError {
    /// The position of the argument it concerns.
    pub argument: Option<usize>,
    pub diagnostic: Box<Diagnostic>,
}
