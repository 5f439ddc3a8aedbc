//! The two sides of an XRD, XRs and claims, and the words in which the reference speaks of each.

use composition::crd;
use composition::definition::Definition;
use composition::run::Object;
use manifest::GroupVersionKind;

/// What a controller works on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Role {
    /// XRs.
    Composite,
    /// Claims.
    Claim,
}

/// Names and words of one side.
pub(super) struct Words {
    /// Keeps the XRD until what it defines is gone.
    pub(super) finalizer: &'static str,
    /// The condition that says whether it is watched.
    pub(super) condition: &'static str,
    /// The condition's reason while it is.
    pub(super) watching: &'static str,
    /// The condition's reason while the XRD is being deleted.
    pub(super) terminating: &'static str,
    /// The reason of events on the way there.
    pub(super) establish: &'static str,
    /// The reason of events on the way out.
    pub(super) terminate: &'static str,
    /// What it is called in sentences.
    pub(super) noun: &'static str,
    /// Its own entry under `status.controllers`.
    pub(super) controller: &'static str,
    /// The source of its events.
    pub(super) component: &'static str,
}

impl Role {
    pub(super) const fn words(self) -> Words {
        match self {
            Self::Composite => Words {
                finalizer: "defined.apiextensions.crossplane.io",
                condition: "Established",
                watching: "WatchingCompositeResource",
                terminating: "TerminatingCompositeResource",
                establish: "EstablishComposite",
                terminate: "TerminateComposite",
                noun: "composite resource",
                controller: "compositeResourceType",
                component: "defined/compositeresourcedefinition.apiextensions.crossplane.io",
            },
            Self::Claim => Words {
                finalizer: "offered.apiextensions.crossplane.io",
                condition: "Offered",
                watching: "WatchingCompositeResourceClaim",
                terminating: "TerminatingCompositeResourceClaim",
                establish: "OfferClaim",
                terminate: "RedactClaim",
                noun: "composite resource claim",
                controller: "compositeResourceClaimType",
                component: "offered/compositeresourcedefinition.apiextensions.crossplane.io",
            },
        }
    }

    /// The sides `definition` has.
    pub(super) fn of(definition: &Definition) -> Vec<Self> {
        let claim = definition.spec.claim_names.as_ref().map(|_| Self::Claim);
        [Self::Composite].into_iter().chain(claim).collect()
    }

    /// The CRD of this side, if `definition` has it.
    pub(super) fn crd(self, definition: &Definition) -> Option<Object> {
        match self {
            Self::Composite => Some(crd::composite(definition)),
            Self::Claim => crd::claim(definition),
        }
    }

    /// The kind of this side's objects; nothing if it has none.
    pub(super) fn objects(self, definition: &Definition) -> Option<&GroupVersionKind> {
        match self {
            Self::Composite => Some(&definition.composite),
            Self::Claim => definition.claim.as_ref(),
        }
    }
}
