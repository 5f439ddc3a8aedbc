//! The names of everything this crate itself has to tell users.

use diag::Code;

macro_rules! codes {
    ($($name:ident = $code:literal, $about:literal;)*) => {
        $(pub(crate) const $name: Code = Code::new($code, $about);)*

        /// All of them, for the reference in the book.
        pub const CODES: &[Code] = &[$($name),*];
    };
}

codes! {
    PROVIDER_PANIC = "provider-panic", "The provider met a case its authors thought impossible. Please report it.";
    INVALID_VALUE = "terraform-invalid-value", "Terraform and the provider do not agree on the shape of a value. Please report it.";
    RULE_BROKEN = "terraform-rule-broken", "A development build of the provider broke one of Terraform's own rules. Please report it.";
    UNKNOWN_TYPE = "terraform-unknown-type", "Terraform asked for a kind of object this provider does not have.";
    NO_UPGRADE = "state-upgrade-missing", "The state was written by a version of the provider that this one cannot read.";
    UNREADABLE_STATE = "state-unreadable", "The saved state does not fit the schema; it may have been edited by hand.";
    NO_IMPORT = "import-not-supported", "This resource cannot be imported; create it instead.";
    NO_MOVE = "move-not-supported", "A `moved` block names a source that this resource cannot take over.";
    PRIVATE_STATE = "private-state-unreadable", "What the provider stored beside the attributes is not in its layout.";
    IDENTITY_CHANGED = "identity-changed", "The identity of a resource never changes; this is a bug in the provider.";
    MISSING_STATE = "state-missing", "The provider reported success without a state; this is a bug in the provider.";
    GIVEN_UP = "terraform-interrupted", "Terraform was interrupted, and so the provider stopped looking.";
    WRITE_ONLY = "write-only-unsupported", "This version of Terraform cannot handle write-only attributes; use 1.11 or later.";
    DEPRECATED = "attribute-deprecated", "The attribute still works, but will not for ever.";
}
