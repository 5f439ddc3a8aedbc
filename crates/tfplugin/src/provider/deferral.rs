//! Deferrals: answers to a client that can plan a resource later, when more is known.

use crate::r#gen::tfplugin6 as proto;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Deferral {
    /// The configuration of the resource is not known yet.
    ResourceConfigUnknown,
    /// The configuration of the provider is not known yet.
    ProviderConfigUnknown,
}

impl Deferral {
    pub(crate) fn to_proto(self) -> proto::Deferred {
        use proto::deferred::Reason;
        let reason = match self {
            Self::ResourceConfigUnknown => Reason::ResourceConfigUnknown,
            Self::ProviderConfigUnknown => Reason::ProviderConfigUnknown,
        };
        proto::Deferred { reason: reason.into() }
    }
}
