//! What stands for calls to a server in a program that was built without them.

use crate::calls::Calls;
use crate::{AddressError, ClientOptions, Result, ServerUrl};
use onward_core::Millis;

/// There is no server to speak to.
#[derive(Debug)]
pub(crate) enum Connection {}

impl Connection {
    pub(crate) fn now(&self) -> Millis {
        match *self {}
    }

    pub(crate) fn close(&self) {
        match *self {}
    }

    pub(crate) async fn shutdown(&self) {
        match *self {}
    }
}

pub(crate) fn connect(_: &ServerUrl, _: &ClientOptions) -> Result<(Connection, Calls)> {
    Err(AddressError::NotBuilt { store: "what speaks to servers", feature: "remote" }.into())
}
