//! What a verb is: the data of a command, the keys it reads, what it does to the records, and what it answers.

use crate::{Actor, Key, Millis, PartitionId, Stop, View};
use std::fmt;

/// One thing that can be asked of a partition. A verb is one file in `rules/`, and one row of the table there.
pub trait Verb: fmt::Debug {
    /// How it is treated when a partition has more commands than it can run at once.
    const URGENCY: Urgency = Urgency::Essential;

    /// The answer when it is accepted.
    type Reply: fmt::Debug + Clone + PartialEq + Eq;

    /// The keys that the rule reads unless it ends early, apart from [`Verb::fresh_key`].
    fn keys(&self, partition: PartitionId) -> Vec<Key>;

    /// Runs the rule.
    ///
    /// # Errors
    /// [`Stop::Refuse`] with the reason, or [`Stop::Need`] with the keys of records that must be loaded first.
    fn run(&self, view: &mut View, now: Millis) -> Result<Self::Reply, Stop>;

    /// A key that is absent unless this very command ran before; assuming so saves a read, and the commit checks it.
    fn fresh_key(&self) -> Option<Key> {
        None
    }

    /// The name of what it does, for a verb that does one of several things.
    fn part(&self) -> Option<&'static str> {
        None
    }

    /// Who sent it, when the caller is known by name.
    fn actor(&self) -> Option<&Actor> {
        None
    }

    /// About how many bytes of memory it holds while it waits.
    fn bytes(&self) -> usize {
        USUAL_BYTES
    }
}

/// The bytes of a command without a payload.
pub(crate) const USUAL_BYTES: usize = 1_024;

/// How a command is treated under load.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Urgency {
    /// It is refused first when there is too much to do.
    Sheddable,
    /// It frees what is held, and is accepted for longer.
    Essential,
    /// The engine sends it by itself; it yields to calls.
    Background,
}

/// A verb that has a row in the table, so that it is a [`Command`](crate::Command) among others.
pub trait TableVerb: Verb + Into<crate::Command> {
    /// Its own answer out of any; `None` for the answer to another verb.
    fn open(reply: crate::Reply) -> Option<Self::Reply>;
}

/// A verb whose data says which partition runs it.
pub trait Addressed: TableVerb {
    /// The partition, in a store with this many partitions.
    fn home(&self, partitions: u16) -> PartitionId;
}

/// Makes the table of verbs: a module for each, the enums of all commands and replies, and what must know all of them.
macro_rules! verbs {
    ($($(#[$about:meta])* $module:ident::$verb:ident,)+) => {
        $(pub(crate) mod $module;)+
        $(pub use $module::$verb;)+

        /// A command to one partition. Everything a rule cannot know by itself comes with it: ids and the caller's name.
        #[derive(Debug, Clone, PartialEq, Eq)]
        pub enum Command {
            $($(#[$about])* $verb($verb),)+
        }

        /// The answer to a command that was accepted.
        #[derive(Debug, Clone, PartialEq, Eq)]
        pub enum Reply {
            $(#[doc = concat!("To [`Command::", stringify!($verb), "`].")] $verb(<$verb as Verb>::Reply),)+
        }

        $(impl From<$verb> for Command {
            fn from(verb: $verb) -> Self {
                Self::$verb(verb)
            }
        }

        impl TableVerb for $verb {
            fn open(reply: Reply) -> Option<Self::Reply> {
                if let Reply::$verb(reply) = reply { Some(reply) } else { None }
            }
        })+

        impl Command {
            /// The names of all verbs, in the order of the table.
            pub const NAMES: &'static [&'static str] = &[$(stringify!($module),)+];

            /// How it is treated when a partition has more commands than it can run at once.
            #[must_use]
            pub fn urgency(&self) -> Urgency {
                match self { $(Self::$verb(_) => $verb::URGENCY,)+ }
            }

            /// A short name for traces and metrics: that of the verb, or of the part of it.
            #[must_use]
            pub fn name(&self) -> &'static str {
                match self { $(Self::$verb(verb) => verb.part().unwrap_or(stringify!($module)),)+ }
            }
        }

        impl Verb for Command {
            type Reply = Reply;

            fn keys(&self, partition: PartitionId) -> Vec<Key> {
                match self { $(Self::$verb(verb) => verb.keys(partition),)+ }
            }

            fn run(&self, view: &mut View, now: Millis) -> Result<Reply, Stop> {
                match self { $(Self::$verb(verb) => verb.run(view, now).map(Reply::$verb),)+ }
            }

            fn fresh_key(&self) -> Option<Key> {
                match self { $(Self::$verb(verb) => verb.fresh_key(),)+ }
            }

            fn actor(&self) -> Option<&Actor> {
                match self { $(Self::$verb(verb) => verb.actor(),)+ }
            }

            fn bytes(&self) -> usize {
                match self { $(Self::$verb(verb) => verb.bytes(),)+ }
            }
        }

        /// The rows of every verb in the (state × command) table.
        #[cfg(test)]
        pub(crate) const ROWS: &[(&str, &[table::Row])] = &[$((stringify!($module), $module::rows::ROWS),)+];
    };
}

pub(crate) use verbs;
