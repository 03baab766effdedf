//! Who does which step of a plan.

use std::path::Path;

use plimsoll_act::{Api, ApiTarget, Made, Makers, Target, Targets, Trouble};
use plimsoll_model::plan::{Plan, Step, Target as Where};
use serde_json::Value;

/// The targets of one session.
pub struct Hands<'a> {
    api: Option<ApiTarget<'a>>,
}

/// Nothing can be made yet.
pub struct NoMakers;

impl Makers for NoMakers {
    fn make(&self, maker: &str, _: &Value) -> Result<Made, Trouble> {
        Err(Trouble::Failed(format!("there is no maker '{maker}'")))
    }
}

impl<'a> Hands<'a> {
    pub fn new(api: Option<&'a Api>, plan: &Plan, folder: &Path, makers: &'a dyn Makers) -> Self {
        let api = api.map(|api| ApiTarget {
            api,
            kept: folder.join("kept"),
            session: plan.digest.clone(),
            makers,
        });
        Self { api }
    }
}

impl Targets for Hands<'_> {
    fn of(&self, step: &Step) -> Result<&dyn Target, Trouble> {
        match (&step.target, &self.api) {
            (Where::Api(_), Some(api)) => Ok(api),
            (Where::Api(_), None) => {
                Err(Trouble::Failed("no live cluster is given: add kube:CONTEXT".into()))
            }
            _ => Err(Trouble::Failed("nobody is there to do it".into())),
        }
    }
}
