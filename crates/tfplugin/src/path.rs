//! Paths to values in a resource: `cluster.exec.args[0]`.

use std::fmt;

use crate::r#gen::tfplugin6 as proto;

/// The path from a resource to one of its values; empty for the resource itself.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Path(Vec<Step>);

/// One step of a [`Path`].
///
/// The protocol cannot address an element of a set, so a path ends at the set.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Step {
    Attribute(String),
    Key(String),
    Index(usize),
}

impl Path {
    pub const fn root() -> Self {
        Self(Vec::new())
    }

    pub fn of(name: impl Into<String>) -> Self {
        Self::root().attribute(name)
    }

    #[must_use]
    pub fn attribute(mut self, name: impl Into<String>) -> Self {
        self.0.push(Step::Attribute(name.into()));
        self
    }

    #[must_use]
    pub fn key(mut self, key: impl Into<String>) -> Self {
        self.0.push(Step::Key(key.into()));
        self
    }

    #[must_use]
    pub fn index(mut self, index: usize) -> Self {
        self.0.push(Step::Index(index));
        self
    }

    pub fn steps(&self) -> &[Step] {
        &self.0
    }

    pub fn is_root(&self) -> bool {
        self.0.is_empty()
    }

    /// Runs `inside` with the path one step longer.
    pub(crate) fn within<T>(&mut self, step: Step, inside: impl FnOnce(&mut Self) -> T) -> T {
        self.push(step);
        let result = inside(self);
        self.pop();
        result
    }

    pub(crate) fn push(&mut self, step: Step) {
        self.0.push(step);
    }

    pub(crate) fn push_front(&mut self, step: Step) {
        self.0.insert(0, step);
    }

    pub(crate) fn pop(&mut self) {
        self.0.pop();
    }

    /// The path in messages, where the resource itself needs a name too.
    pub(crate) fn or_root(&self) -> String {
        if self.is_root() { "the resource".to_owned() } else { self.to_string() }
    }

    pub(crate) fn to_proto(&self) -> proto::AttributePath {
        use proto::attribute_path::step::Selector;
        let step = |step: &Step| proto::attribute_path::Step {
            selector: Some(match step {
                Step::Attribute(name) => Selector::AttributeName(name.clone()),
                Step::Key(key) => Selector::ElementKeyString(key.clone()),
                Step::Index(index) => Selector::ElementKeyInt(i64::try_from(*index).unwrap_or(i64::MAX)),
            }),
        };
        proto::AttributePath { steps: self.0.iter().map(step).collect() }
    }
}

/// Terraform's notation: `cluster.exec.env["HOME"]`.
impl fmt::Display for Path {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (position, step) in self.0.iter().enumerate() {
            match step {
                Step::Attribute(name) if position == 0 => f.write_str(name)?,
                Step::Attribute(name) => write!(f, ".{name}")?,
                Step::Key(key) => write!(f, "[{key:?}]")?,
                Step::Index(index) => write!(f, "[{index}]")?,
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_reads_as_terraform_writes_it() {
        let path = Path::of("cluster").attribute("exec").attribute("env").key("HOME").index(2);
        assert_eq!(path.to_string(), r#"cluster.exec.env["HOME"][2]"#);
        assert_eq!(Path::root().to_string(), "");
    }

    #[test]
    fn attributes_and_keys_differ_on_the_wire() {
        use proto::attribute_path::step::Selector;
        let steps = Path::of("env").key("HOME").index(2).to_proto().steps;
        let selectors: Vec<_> = steps.into_iter().map(|step| step.selector.unwrap()).collect();
        assert_eq!(
            selectors,
            [
                Selector::AttributeName("env".to_owned()),
                Selector::ElementKeyString("HOME".to_owned()),
                Selector::ElementKeyInt(2)
            ]
        );
    }
}
