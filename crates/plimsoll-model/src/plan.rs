//! A repair as a file that a person can read and trust: `plimsoll.plan/v1`. Nothing in it is secret:
//! where a step writes a credential, the plan says what it is made of and who makes it.

mod hindrance;

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use sha2::{Digest, Sha256};

use crate::diagnosis::{Cluster, Confidence, StateRef};
use crate::{EntityId, Evidence, Time};
pub use hindrance::Hindrance;

pub const PLAN_SCHEMA: &str = "plimsoll.plan/v1";

/// From here on somebody types the name of what is touched.
pub const TYPED_FROM: u8 = 3;

/// Minutes; longer than this no rule stays broken.
pub const LONGEST_BREAK: u64 = 60;

/// Who copies the administrator's kubeconfig of a node, on that node.
pub const LOCALHOST_MAKER: &str = "localhost-kubeconfig";

/// Who makes what no plan may hold. A private key is made for one Secret: whoever may read another place
/// must not find it there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Maker {
    /// As packs name it.
    pub name: &'static str,
    /// Where it may be written: `Kind/namespace/name` or a file of a node; `*` at its end is any rest.
    pub place: &'static str,
    /// Objects that it is made of; in braces, inputs of the step.
    pub reads: &'static [&'static str],
}

const MCS_CA: &str = "Secret/openshift-machine-config-operator/machine-config-server-ca";
const MCS_TLS: &str = "Secret/openshift-machine-config-operator/machine-config-server-tls";
const ROOT_CA: &str = "ConfigMap/kube-system/root-ca";
const INFRASTRUCTURE: &str = "Infrastructure/cluster";

/// Sorted by name.
pub const MAKERS: &[Maker] = &[
    Maker {
        name: "bootstrap-kubeconfig",
        place: "/etc/kubernetes/kubeconfig",
        reads: &[
            INFRASTRUCTURE,
            "Secret/openshift-machine-config-operator/node-bootstrapper-token",
            "ConfigMap/openshift-kube-controller-manager/serviceaccount-ca",
        ],
    },
    Maker { name: "chrony-machine-config", place: "MachineConfig/*", reads: &[] },
    Maker { name: LOCALHOST_MAKER, place: "/var/lib/kubelet/kubeconfig", reads: &[] },
    Maker {
        name: "machine-config-of-node",
        place: "MachineConfig/rendered-*",
        reads: &["MachineConfigPool/{pool}"],
    },
    Maker {
        name: "mcs-ca-configmap",
        place: "ConfigMap/openshift-machine-config-operator/machine-config-server-ca",
        reads: &[MCS_CA, "ConfigMap/openshift-machine-config-operator/machine-config-server-ca"],
    },
    Maker { name: "mcs-ca-secret", place: MCS_CA, reads: &[] },
    Maker { name: "mcs-root-ca-configmap", place: ROOT_CA, reads: &[MCS_CA, ROOT_CA] },
    Maker { name: "mcs-tls-secret", place: MCS_TLS, reads: &[INFRASTRUCTURE, MCS_CA, MCS_TLS] },
    Maker {
        name: "mcs-tls-secret-from-backup",
        place: MCS_TLS,
        reads: &[INFRASTRUCTURE, MCS_CA, ROOT_CA],
    },
    Maker {
        name: "pointer-ignition",
        place: "Secret/openshift-machine-api/*",
        reads: &["Secret/openshift-machine-api/{secret}", MCS_CA, ROOT_CA],
    },
];

impl Maker {
    pub fn named(name: &str) -> Option<&'static Self> {
        MAKERS.iter().find(|maker| maker.name == name)
    }

    pub fn may_write(&self, place: &str) -> bool {
        match self.place.strip_suffix('*') {
            Some(begin) => place.starts_with(begin),
            None => place == self.place,
        }
    }
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Plan {
    /// Always `plimsoll.plan/v1`.
    pub schema: String,
    /// SHA-256 of the plan without this line. `--apply` takes it.
    pub digest: String,
    /// Time of the reading that it rests on.
    pub made_for: Option<Time>,
    pub cluster: Cluster,
    pub root: StateRef,
    pub confidence: Confidence,
    /// Id of the repair, as `plimsoll explain` knows it.
    pub repair: String,
    pub title: String,
    /// What only the user knew, from `--set`.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub answers: BTreeMap<String, String>,
    pub reason: Reason,
    /// Every root that was there: another one later makes the plan stale.
    pub roots: Vec<StateRef>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub minutes: Option<u64>,
    /// The highest of its steps: 0 read, 1 one pod or request, 2 one object, 3 one node, 4 control plane
    /// or pool, 5 data or quorum.
    pub blast: u8,
    /// It may be done while an update or a rollout is going on.
    #[serde(default)]
    pub during_rollout: bool,
    /// It breaks a rule that otherwise holds, was asked for by name, and is taken back by itself after
    /// so many minutes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub break_glass_minutes: Option<u64>,
    /// Empty where there is no repair; `none` says why.
    pub steps: Vec<Step>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub none: Option<String>,
    /// Why it cannot be carried out as it is; what a person does by hand is no reason.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub hindrances: Vec<Hindrance>,
    /// How a person sees that it is mended.
    pub verify: Vec<Verification>,
    /// What must not be done here, and why.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub never: Vec<String>,
    /// When to stop, and whom to call.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub escalate: Option<String>,
}

/// The diagnosis that the plan rests on.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Reason {
    pub summary: String,
    pub explains: Vec<StateRef>,
    pub evidence: Vec<Evidence>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Step {
    /// From 1.
    pub number: usize,
    pub title: String,
    pub action: Action,
    pub target: Target,
    /// What changes, line by line: `- path: value` and `+ path: value`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub diff: Vec<String>,
    /// Must hold right before the step.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub require: Vec<Condition>,
    /// Where all of these hold right before it, it is not needed and left out.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unless: Vec<Condition>,
    /// Must hold after it, within its time.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub expect: Vec<Condition>,
    pub undo: Undo,
    pub blast: u8,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub permissions: Vec<Permission>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub minutes: Option<u64>,
    /// The same with `oc` or a shell, for who does it by hand.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub commands: Vec<String>,
    pub rehearsal: Rehearsal,
}

/// What is touched, exactly.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase", tag = "in")]
pub enum Target {
    Api(Object),
    Node {
        name: String,
    },
    Bmc {
        host: String,
        /// Nothing is done to a machine with another serial number.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        serial: Option<String>,
    },
    /// Somebody's hands, or nobody's: a step that only waits.
    Nothing,
}

/// An object of the API.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Object {
    /// Empty for the core group.
    pub group: String,
    pub version: String,
    pub plural: String,
    pub kind: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub namespace: Option<String>,
    pub name: String,
    /// Absent while it does not exist.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub uid: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resource_version: Option<String>,
    /// What the decision rests on, as JSON pointers; empty for all but status and bookkeeping.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub decides: Vec<String>,
    /// SHA-256 of that. When it moved, the plan is stale.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub decision: Option<String>,
}

impl Object {
    pub fn entity(&self) -> EntityId {
        EntityId {
            kind: self.kind.clone(),
            namespace: self.namespace.clone(),
            name: self.name.clone(),
        }
    }
}

/// What is done, in the smallest verbs. How, is in the targets.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", tag = "do")]
pub enum Action {
    /// JSON patch, locked by uid and resourceVersion.
    Patch {
        #[serde(default, skip_serializing_if = "Option::is_none")]
        subresource: Option<String>,
        operations: Vec<Value>,
    },
    Create {
        content: Content,
    },
    /// The data of a Secret or ConfigMap, made when it is written. The old object is kept in the
    /// cluster, under another name.
    Fill {
        content: Content,
    },
    /// By uid.
    Delete,
    /// The next request of this node that the rule lets through; every other one is left alone.
    Approve {
        node: String,
        signer: Signer,
    },
    WriteFile {
        path: String,
        mode: u32,
        content: Content,
    },
    /// Moves files aside, into the folder of this session on the node.
    Retire {
        paths: Vec<String>,
    },
    Unit {
        unit: String,
        verb: UnitVerb,
    },
    Power {
        to: Power,
    },
    EjectMedia,
    /// Only waits for what is expected.
    Wait,
    /// A person does it, and says so.
    Hand {
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        run: Vec<String>,
        expect: String,
    },
}

/// What is written.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", tag = "from")]
pub enum Content {
    /// It stands here.
    Plan { value: Value },
    /// It is made when it is written, by this maker from these inputs, and stands nowhere.
    Maker { maker: String, inputs: Value },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Signer {
    Client,
    Serving,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum UnitVerb {
    Start,
    Stop,
    Restart,
}

impl UnitVerb {
    /// As `systemctl` takes it.
    pub fn word(self) -> &'static str {
        match self {
            UnitVerb::Start => "start",
            UnitVerb::Stop => "stop",
            UnitVerb::Restart => "restart",
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Power {
    On,
    Off,
}

/// How a step is taken back.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", tag = "by")]
pub enum Undo {
    /// The reverse patch; each operation tests first that nobody changed it since.
    Patch { operations: Vec<Value> },
    /// Deletes what was created, if it is still as it was made.
    Delete,
    /// Puts back what was kept before the touch.
    Restore,
    /// Does the opposite.
    Reverse,
    /// There is nothing to take back.
    Nothing { because: String },
    /// It cannot be taken back.
    Impossible { because: String },
}

impl Action {
    /// As packs and plans call it.
    pub fn verb(&self) -> &'static str {
        match self {
            Action::Patch { .. } => "patch",
            Action::Create { .. } => "create",
            Action::Fill { .. } => "fill",
            Action::Delete => "delete",
            Action::Approve { .. } => "approve",
            Action::WriteFile { .. } => "write-file",
            Action::Retire { .. } => "retire",
            Action::Unit { .. } => "unit",
            Action::Power { .. } => "power",
            Action::EjectMedia => "eject-media",
            Action::Wait => "wait",
            Action::Hand { .. } => "hand",
        }
    }

    /// Whether it is done by a program.
    pub fn acts(&self) -> bool {
        !matches!(self, Action::Hand { .. } | Action::Wait)
    }
}

/// How far a verb reaches at least, on a thing of this kind. Who writes a pack or a plan may call a step more
/// dangerous than its verb is, never less.
pub fn least_blast(verb: &str, kind: &str) -> u8 {
    match (verb, kind) {
        ("hand" | "wait", _) => 0,
        ("approve", _) => 1,
        // What is made again, or ends by itself.
        ("delete", "Pod" | "CertificateSigningRequest") => 1,
        // The control plane rolls out, or what guarded the API lets everything pass.
        ("patch", "Etcd" | "KubeAPIServer" | "KubeControllerManager" | "KubeScheduler") => 4,
        ("patch", "MutatingWebhookConfiguration" | "ValidatingWebhookConfiguration") => 4,
        // Machines are switched by it, and passwords sent.
        ("patch", "BareMetalHost") => 3,
        ("patch" | "create" | "fill" | "eject-media", _) => 2,
        // Of anything else, and of a verb or a kind that nobody knows, it is felt.
        _ => 3,
    }
}

impl Step {
    /// How far it reaches, whatever the plan says of it.
    pub fn reach(&self) -> u8 {
        let kind = match &self.target {
            Target::Api(object) => object.kind.as_str(),
            _ => "",
        };
        let least = least_blast(self.action.verb(), kind);
        let of_machines = if self.reboots() || self.unpauses() { 4 } else { 0 };
        self.blast.max(least).max(of_machines)
    }

    /// Whether a pool may go on with what it was kept from: its nodes drain and reboot.
    fn unpauses(&self) -> bool {
        let (Target::Api(object), Action::Patch { operations, .. }) = (&self.target, &self.action)
        else {
            return false;
        };
        let keeps_paused = |one: &Value| {
            let path = one["path"].as_str().unwrap_or_default();
            let is_about =
                path == "/spec/paused" || "/spec/paused".starts_with(&format!("{path}/"));
            let is_paused = path == "/spec/paused" && one["value"] == true;
            one["op"] == "test" || !is_about || is_paused
        };
        object.kind == "MachineConfigPool" && !operations.iter().all(keeps_paused)
    }

    /// Whether somebody types the name of what it touches: it is felt, cannot be taken back, or cannot be tried
    /// out first.
    pub fn is_typed(&self) -> bool {
        let is_final = matches!(self.undo, Undo::Impossible { .. });
        let is_untried = matches!(self.rehearsal, Rehearsal::Impossible { .. });
        match &self.action {
            Action::Hand { .. } | Action::Wait => false,
            _ => self.reach() >= TYPED_FROM || is_final || is_untried,
        }
    }

    /// Whether machines reboot for it, and again when it is taken back. A rendered config that no pool names is
    /// only a record.
    pub fn reboots(&self) -> bool {
        let Target::Api(object) = &self.target else { return false };
        let place = (object.namespace.as_deref(), object.name.as_str());
        match object.kind.as_str() {
            "MachineConfig" => !object.name.starts_with("rendered-"),
            "ConfigMap" => place == (Some("kube-system"), "root-ca"),
            _ => false,
        }
    }

    /// How it is taken back, in words; `None` where there is nothing to take back.
    pub fn undo_told(&self) -> Option<String> {
        let told = self.undo.told()?;
        let is_final = matches!(self.undo, Undo::Impossible { .. });
        Some(match self.reboots() && !is_final {
            true => format!("{told}; machines reboot again for it, and it asks first"),
            false => told,
        })
    }
}

impl Undo {
    /// In words; `None` where there is nothing to take back.
    pub fn told(&self) -> Option<String> {
        Some(match self {
            Undo::Patch { .. } => "the reverse change, if nobody changed it since".into(),
            Undo::Delete => "deleted again, if it is still as it was made".into(),
            Undo::Restore => "what was there is put back".into(),
            Undo::Reverse => "the opposite".into(),
            Undo::Impossible { because } => format!("none: {because}"),
            Undo::Nothing { .. } => return None,
        })
    }
}

/// What must be true of a thing, in the language of the packs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Condition {
    pub on: EntityId,
    /// CEL over the facts of that thing.
    pub that: String,
    /// The same in words.
    pub says: String,
    /// Minutes to wait for it; 0 means that it holds at once.
    #[serde(default)]
    pub within: u64,
}

/// A right that a step and its undo need.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
pub struct Permission {
    pub verb: String,
    pub group: String,
    pub resource: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub namespace: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", tag = "by")]
pub enum Rehearsal {
    /// The server does all but store it.
    Server,
    /// There is no dry run of this.
    Impossible { because: String },
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Verification {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run: Option<String>,
    pub expect: String,
}

impl Plan {
    /// With the digest of what it says.
    pub fn sealed(mut self) -> Self {
        self.digest = self.computed_digest();
        self
    }

    /// Whether it is what it was when it was sealed.
    pub fn is_intact(&self) -> bool {
        self.schema == PLAN_SCHEMA && self.digest == self.computed_digest()
    }

    fn computed_digest(&self) -> String {
        let bare = Plan { digest: String::new(), ..self.clone() };
        // A struct without maps of other than text keys always becomes JSON.
        sha256(&serde_json::to_vec(&bare).unwrap_or_default())
    }

    /// Whether anything would be done but by hand.
    pub fn acts(&self) -> bool {
        self.steps.iter().any(|step| !matches!(step.action, Action::Hand { .. }))
    }

    pub fn json_schema() -> Value {
        crate::diagnosis::titled(schemars::schema_for!(Plan), PLAN_SCHEMA, "Plimsoll plan")
    }
}

/// In lower-case hex.
pub fn sha256(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect()
}
