//! What an XRD has established and can no longer change: it is refused, or the API server refuses its CRDs. Their objects are
//! reconciled, and deleted with it, in the versions that its CRDs have.

use composition::definition::Definition;
use composition::object;
use composition::protocol::Object;
use manifest::GroupVersionKind;
use serde_json::Value;

use super::{Reconcile, Result, Role, status};

impl Reconcile<'_> {
    /// Keeps controllers running for what an XRD that is refused has established. One that runs already stays as it is.
    pub(super) async fn uphold(&mut self) -> Result<()> {
        let Some(salvaged) = Definition::salvaged(&self.xrd) else { return Ok(()) };
        let (standing, roles) = self.standing(&salvaged).await?;
        for role in roles {
            self.start_upheld(&standing, role).await;
        }
        Ok(())
    }

    pub(super) async fn start_upheld(&self, standing: &Definition, role: Role) {
        let kind = self.kind(standing);
        if !self.definitions.kinds.is_running(role, kind.name()).await {
            self.definitions.kinds.start(role, kind).await;
        }
    }

    /// `definition` in the versions that the CRDs of the XRD have, and the roles whose objects are served.
    pub(super) async fn standing(&mut self, definition: &Definition) -> Result<(Definition, Vec<Role>)> {
        let mut standing = definition.clone();
        let mut served = Vec::new();
        for role in Role::of(definition) {
            let Some(crd) = self.own_crd(definition, role).await? else { continue };
            let kind = match role {
                Role::Composite => Some(&mut standing.composite),
                Role::Claim => standing.claim.as_mut(),
            };
            let Some(kind) = kind else { continue };
            if let Some(found) = version(&crd, &self.xrd, role, kind) {
                *kind = found;
            }
            if status::is_established(&crd) {
                served.push(role);
            }
        }
        Ok((standing, served))
    }
}

/// `kind` in a version that its CRD serves: the one in which it was reconciled last, the one it is in, or the one that is stored.
fn version(crd: &Object, xrd: &Object, role: Role, kind: &GroupVersionKind) -> Option<GroupVersionKind> {
    let served: Vec<&Value> =
        object::list(crd, &["spec", "versions"]).filter(|it| it["served"] == true).collect();
    let last = object::text(xrd, &["status", "controllers", role.words().controller, "apiVersion"]);
    let last = last.and_then(|last| last.rsplit('/').next());
    let is_served = |version: &&str| served.iter().any(|it| it["name"] == *version);
    let stored = served.iter().find(|it| it["storage"] == true).or(served.first());
    let version = last.filter(is_served).or_else(|| Some(kind.version()).filter(is_served));
    let version = version.or_else(|| stored?["name"].as_str())?;
    GroupVersionKind::new(format!("{}/{version}", kind.group()).parse().ok()?, kind.kind()).ok()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn objects_are_read_in_a_version_that_is_served() {
        let check = |versions: &[(&str, bool, bool)], last: Option<&str>, expected: Option<&str>| {
            let versions: Vec<Value> = versions
                .iter()
                .map(|(name, served, storage)| json!({"name": name, "served": served, "storage": storage}))
                .collect();
            let crd = object::object(json!({"spec": {"versions": versions}}));
            let last = last.map(|last| format!("example.org/{last}"));
            let xrd = json!({"status": {"controllers": {"compositeResourceType": {"apiVersion": last}}}});
            let kind = "example.org/v2/XApp".parse().unwrap();
            let found = version(&crd, &object::object(xrd), Role::Composite, &kind);
            let expected = expected.map(|version| format!("example.org/{version}/XApp").parse().unwrap());
            assert_eq!(found, expected, "{versions:?}");
        };
        check(&[("v1", true, true)], None, Some("v1"));
        check(&[("v1", true, true), ("v2", true, false)], None, Some("v2"));
        check(&[("v1", true, true), ("v2", true, false)], Some("v1"), Some("v1"));
        check(&[("v1", false, true), ("v3", true, false)], Some("v1"), Some("v3"));
        check(&[("v0", true, false), ("v1", true, true)], Some("v5"), Some("v1"));
        check(&[("v1", false, true)], Some("v1"), None);
    }
}
