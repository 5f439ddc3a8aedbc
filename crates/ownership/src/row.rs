//! The sixteen ways in which holding a field can change, from four yes-or-no questions.

use std::fmt;

/// The four questions, asked of one field.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[expect(clippy::struct_excessive_bools, reason = "the model is four independent questions")]
pub(crate) struct Transition {
    /// Our manager held the field at the last apply, and it was not ignored then.
    pub prev_owned: bool,
    /// Our manager will hold it after this apply, and it is not ignored now.
    pub now_owned: bool,
    /// The written value, or whether the field is ignored, differs from last time.
    pub config_changed: bool,
    /// Another manager changed the value since the last apply.
    pub external_changed: bool,
}

/// What happens to a field, one row for each combination of the four answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Row {
    /// 0: not ours, and nothing moved.
    LeftAlone,
    /// 1: not ours, and its holder changed it.
    LeftToOthers,
    /// 2: not ours, although what we wrote about it changed.
    EditedButLeft,
    /// 3: not ours; what we wrote and the value both changed.
    EditedAndLeftToOthers,
    /// 4: ours without a reason in what was written.
    GainedUnasked,
    /// 5: ours without a reason in what was written, while another manager changed it.
    GainedWhileChanged,
    /// 6: taken for the first time.
    Take,
    /// 7: taken from a manager that is changing it.
    TakeFromActive,
    /// 8: lost without a reason in what was written.
    LostUnasked,
    /// 9: lost without a reason in what was written, while another manager changed it.
    LostWhileChanged,
    /// 10: released on purpose.
    Release,
    /// 11: released on purpose, and another manager has already changed it.
    ReleaseToOther,
    /// 12: held.
    Hold,
    /// 13: held, and another manager's change is reverted.
    RevertDrift,
    /// 14: held, with a new value.
    Update,
    /// 15: held, with a new value that overwrites another manager's.
    OverwriteConcurrent,
}

/// How much a row matters to a reader.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Level {
    Silent,
    /// Worth showing where there is room.
    Note,
    /// Another manager is changing a field that we are about to set: this may go on forever.
    Warning,
    /// Cannot be our doing: the API server, a webhook or a conversion dropped or added the field.
    NotKept,
}

/// The row of a transition. Total: every combination has one.
pub(crate) const fn classify(transition: Transition) -> Row {
    let Transition { prev_owned, now_owned, config_changed, external_changed } = transition;
    match (prev_owned, now_owned, config_changed, external_changed) {
        (false, false, false, false) => Row::LeftAlone,
        (false, false, false, true) => Row::LeftToOthers,
        (false, false, true, false) => Row::EditedButLeft,
        (false, false, true, true) => Row::EditedAndLeftToOthers,
        (false, true, false, false) => Row::GainedUnasked,
        (false, true, false, true) => Row::GainedWhileChanged,
        (false, true, true, false) => Row::Take,
        (false, true, true, true) => Row::TakeFromActive,
        (true, false, false, false) => Row::LostUnasked,
        (true, false, false, true) => Row::LostWhileChanged,
        (true, false, true, false) => Row::Release,
        (true, false, true, true) => Row::ReleaseToOther,
        (true, true, false, false) => Row::Hold,
        (true, true, false, true) => Row::RevertDrift,
        (true, true, true, false) => Row::Update,
        (true, true, true, true) => Row::OverwriteConcurrent,
    }
}

impl Row {
    /// The four answers read as a binary number.
    pub const fn number(self) -> u8 {
        self as u8
    }

    pub const fn level(self) -> Level {
        match self {
            Self::LeftAlone
            | Self::LeftToOthers
            | Self::EditedButLeft
            | Self::EditedAndLeftToOthers
            | Self::Hold
            | Self::Update => Level::Silent,
            Self::Take | Self::Release | Self::ReleaseToOther => Level::Note,
            Self::TakeFromActive | Self::RevertDrift | Self::OverwriteConcurrent => Level::Warning,
            Self::GainedUnasked | Self::GainedWhileChanged | Self::LostUnasked | Self::LostWhileChanged => {
                Level::NotKept
            }
        }
    }

    pub const fn name(self) -> &'static str {
        match self {
            Self::LeftAlone => "left alone",
            Self::LeftToOthers => "left to others",
            Self::EditedButLeft => "edited, still left alone",
            Self::EditedAndLeftToOthers => "edited, still left to others",
            Self::GainedUnasked => "gained unasked",
            Self::GainedWhileChanged => "gained unasked while another manager changed it",
            Self::Take => "take",
            Self::TakeFromActive => "take from an active manager",
            Self::LostUnasked => "lost unasked",
            Self::LostWhileChanged => "lost unasked while another manager changed it",
            Self::Release => "release",
            Self::ReleaseToOther => "release to a manager that changed it",
            Self::Hold => "hold",
            Self::RevertDrift => "revert another manager's change",
            Self::Update => "update",
            Self::OverwriteConcurrent => "overwrite another manager's change",
        }
    }
}

impl fmt::Display for Row {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Number, the four answers, row, level.
    #[rustfmt::skip]
    const TABLE: [(u8, [u8; 4], Row, Level); 16] = [
        ( 0, [0, 0, 0, 0], Row::LeftAlone,             Level::Silent),
        ( 1, [0, 0, 0, 1], Row::LeftToOthers,          Level::Silent),
        ( 2, [0, 0, 1, 0], Row::EditedButLeft,         Level::Silent),
        ( 3, [0, 0, 1, 1], Row::EditedAndLeftToOthers, Level::Silent),
        ( 4, [0, 1, 0, 0], Row::GainedUnasked,         Level::NotKept),
        ( 5, [0, 1, 0, 1], Row::GainedWhileChanged,    Level::NotKept),
        ( 6, [0, 1, 1, 0], Row::Take,                  Level::Note),
        ( 7, [0, 1, 1, 1], Row::TakeFromActive,        Level::Warning),
        ( 8, [1, 0, 0, 0], Row::LostUnasked,           Level::NotKept),
        ( 9, [1, 0, 0, 1], Row::LostWhileChanged,      Level::NotKept),
        (10, [1, 0, 1, 0], Row::Release,               Level::Note),
        (11, [1, 0, 1, 1], Row::ReleaseToOther,        Level::Note),
        (12, [1, 1, 0, 0], Row::Hold,                  Level::Silent),
        (13, [1, 1, 0, 1], Row::RevertDrift,           Level::Warning),
        (14, [1, 1, 1, 0], Row::Update,                Level::Silent),
        (15, [1, 1, 1, 1], Row::OverwriteConcurrent,   Level::Warning),
    ];

    #[test]
    fn every_combination_has_its_row_and_its_level() {
        for (number, [prev, now, config, external], row, level) in TABLE {
            let transition = Transition {
                prev_owned: prev == 1,
                now_owned: now == 1,
                config_changed: config == 1,
                external_changed: external == 1,
            };
            assert_eq!(classify(transition), row, "row {number}: {}", row.name());
            assert_eq!(row.number(), number, "{}", row.name());
            assert_eq!(row.level(), level, "row {number}: {}", row.name());
            // The row's number is the four answers read as a binary number, so no combination is missing.
            assert_eq!(number, prev << 3 | now << 2 | config << 1 | external);
        }
    }

    #[test]
    fn a_warning_is_a_field_we_set_on_purpose_while_another_manager_changes_it() {
        for (number, [prev, now, config, external], row, _) in TABLE {
            let conflict = external == 1 && now == 1 && (prev == 1 || config == 1);
            assert_eq!(row.level() == Level::Warning, conflict, "row {number}: {}", row.name());
        }
    }
}
