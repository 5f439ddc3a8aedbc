//! The two kinds that an XRD defines, XRs and claims, and Crossplane's words for each.

use composition::crd;
use composition::definition::Definition;
use composition::protocol::Object;
use manifest::GroupVersionKind;

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Role {
    Composite,
    Claim,
}

pub(super) struct Words {
    pub(super) finalizer: &'static str,
    /// The condition that says whether the controller runs.
    pub(super) condition: &'static str,
    /// The condition's reason while it runs.
    pub(super) watching: &'static str,
    /// The condition's reason while the XRD is being deleted.
    pub(super) terminating: &'static str,
    /// The reason of Events while the kind is being established.
    pub(super) establish: &'static str,
    /// The reason of Events while it is being removed.
    pub(super) terminate: &'static str,
    pub(super) noun: &'static str,
    /// The entry under `status.controllers`.
    pub(super) controller: &'static str,
    /// The source of Events.
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

    /// The roles that `definition` has.
    pub(super) fn of(definition: &Definition) -> Vec<Self> {
        let claim = definition.spec.claim_names.as_ref().map(|_| Self::Claim);
        [Self::Composite].into_iter().chain(claim).collect()
    }

    pub(super) fn crd(self, definition: &Definition) -> Option<Object> {
        match self {
            Self::Composite => Some(crd::composite(definition)),
            Self::Claim => crd::claim(definition),
        }
    }

    /// The type of the objects, if `definition` has this role.
    pub(super) fn objects(self, definition: &Definition) -> Option<&GroupVersionKind> {
        match self {
            Self::Composite => Some(&definition.composite),
            Self::Claim => definition.claim.as_ref(),
        }
    }
}
