//! Power and virtual media, against the Redfish service of `plimsoll-bmc`.

#![allow(clippy::unwrap_used, reason = "a test that cannot be set up has to stop")]

use std::time::Duration;

use plimsoll_act::{BmcTarget, Standing, Target, Trouble};
use plimsoll_bmc::mock::{Fault, Server, Tree, dell_r750, generic, hpe_dl380, lenovo_sr650};
use plimsoll_bmc::{Patience, Secret, Target as Address};
use plimsoll_model::Time;
use plimsoll_model::plan::{Action, Power, Rehearsal, Step, Target as Where, Undo};
use serde_json::{Value, json};

const PASSWORD: &str = "correct-horse";
const DELL: &str = "/redfish/v1/Systems/System.Embedded.1";
const SERIAL: &str = "CN7475102A0042";

fn now() -> Time {
    "2026-11-16T12:00:00Z".parse().unwrap()
}

fn patience() -> Patience {
    let long = Duration::from_secs(20);
    Patience { connect: long, request: long, total: Duration::from_secs(120), until: None }
}

/// A tree whose system can be reset, with these kinds.
fn with_reset(mut tree: Tree, system: &str, kinds: &[&str]) -> Tree {
    let target = format!("{system}/Actions/ComputerSystem.Reset");
    let action = json!({"target": target, "ResetType@Redfish.AllowableValues": kinds});
    tree.set(system, "/Actions", json!({"#ComputerSystem.Reset": action}));
    tree.set(system, "/SerialNumber", json!(SERIAL));
    tree
}

fn dell() -> Tree {
    with_reset(dell_r750(), DELL, &["On", "ForceOff", "GracefulShutdown"])
}

async fn started(tree: Tree) -> Server {
    Server::of(tree).credentials("admin", PASSWORD).start().await.unwrap()
}

fn target(server: &Server, system: &str) -> BmcTarget {
    let address = Address {
        name: "worker-9".into(),
        address: server.address(system),
        username: Some("admin".into()),
        password: Some(Secret::new(PASSWORD)),
        verify: false,
        ca_pem: None,
        more_ca_pem: None,
    };
    BmcTarget::new("worker-9", address, patience(), now).settling_within(Duration::from_secs(2))
}

fn step(action: Action) -> Step {
    Step {
        number: 1,
        title: String::new(),
        action,
        target: Where::Bmc { host: "worker-9".into(), serial: None },
        diff: Vec::new(),
        require: Vec::new(),
        unless: Vec::new(),
        expect: Vec::new(),
        undo: Undo::Reverse,
        blast: 3,
        permissions: Vec::new(),
        minutes: None,
        commands: Vec::new(),
        rehearsal: Rehearsal::Impossible { because: "a BMC has no dry run".into() },
    }
}

fn power(to: Power) -> Step {
    step(Action::Power { to })
}

fn changes(server: &Server) -> Vec<(String, Value)> {
    let all = server.requests().into_iter().filter(|request| request.method != "GET");
    all.map(|request| (request.method, request.body)).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_machine_is_switched_off_and_on_again() {
    let server = started(dell()).await;
    let target = target(&server, DELL).expecting(&SERIAL.to_lowercase());
    let off = power(Power::Off);
    let first = target.look(&off).unwrap();
    assert_eq!(first.standing, Standing::Ahead);
    let kept = target.keep(&off).unwrap();
    assert_eq!(kept[0].place, format!("worker-9 (serial number {SERIAL}) had: On"));
    assert!(changes(&server).is_empty(), "nothing was done yet");
    target.act(&off).unwrap();
    assert_eq!(server.document(DELL).unwrap()["PowerState"], "Off");
    let after = target.look(&off).unwrap();
    assert_eq!(after.standing, Standing::Done);
    assert_ne!(after.hash, first.hash);
    target.undo(&off, None).unwrap();
    assert_eq!(target.look(&off).unwrap().hash, first.hash);
    assert_eq!(
        changes(&server),
        [
            ("POST".to_string(), json!({"ResetType": "ForceOff"})),
            ("POST".to_string(), json!({"ResetType": "On"})),
        ]
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn another_machine_at_the_same_address_is_left_alone() {
    let server = started(dell()).await;
    let identity = target(&server, DELL).identity().unwrap();
    assert_eq!(identity.serial.as_deref(), Some(SERIAL));
    let target = target(&server, DELL).expecting("ANOTHER");
    for answer in [target.act(&power(Power::Off)), target.undo(&power(Power::On), None)] {
        let said = answer.unwrap_err();
        assert!(matches!(&said, Trouble::Stale(why) if why.contains("not ANOTHER")), "{said}");
    }
    assert!(target.look(&power(Power::Off)).is_err() && changes(&server).is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn of_several_systems_none_is_guessed() {
    let system = "/redfish/v1/Systems/node-0";
    let server = started(with_reset(generic(), system, &["On", "ForceOff"])).await;
    let said = target(&server, "").act(&power(Power::On)).unwrap_err();
    assert!(said.to_string().contains("several systems"), "{said}");
    let other = target(&server, "/redfish/v1/Systems/node-7").act(&power(Power::On)).unwrap_err();
    assert!(other.to_string().contains("does not have"), "{other}");
    assert!(changes(&server).is_empty());
    target(&server, system).act(&power(Power::On)).unwrap();
    assert_eq!(server.document(system).unwrap()["PowerState"], "On");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_offered_decides_how() {
    let server = started(with_reset(dell_r750(), DELL, &["On", "GracefulShutdown"])).await;
    target(&server, DELL).act(&power(Power::Off)).unwrap();
    assert_eq!(changes(&server)[0].1, json!({"ResetType": "GracefulShutdown"}));
    let server = started(with_reset(dell_r750(), DELL, &["Nmi"])).await;
    let said = target(&server, DELL).act(&power(Power::Off)).unwrap_err();
    assert!(matches!(said, Trouble::Failed(_)) && changes(&server).is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_request_that_was_lost_is_not_sent_twice_and_one_that_was_put_off_is() {
    let action = format!("{DELL}/Actions/ComputerSystem.Reset");
    let lost = Server::of(dell()).fault(&action, Fault::Reset).start().await.unwrap();
    let said = target(&lost, DELL).act(&power(Power::Off)).unwrap_err();
    assert!(matches!(said, Trouble::Lost(_)), "{said:?}");
    assert_eq!(changes(&lost).len(), 1);
    let busy = Server::of(dell()).fault_times(&action, Fault::status(503), 1);
    let busy = busy.start().await.unwrap();
    target(&busy, DELL).act(&power(Power::Off)).unwrap();
    assert_eq!(changes(&busy).len(), 2);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_refusal_is_told_without_the_password() {
    let action = format!("{DELL}/Actions/ComputerSystem.Reset");
    let said_back = format!("{PASSWORD} may not do this");
    let builder = Server::of(dell()).credentials("admin", PASSWORD);
    let server = builder.fault(&action, Fault::Status(403, said_back)).start().await.unwrap();
    let said = target(&server, DELL).act(&power(Power::Off)).unwrap_err();
    assert!(matches!(&said, Trouble::Refused(why) if !why.contains(PASSWORD)), "{said}");
    assert_eq!(server.document(DELL).unwrap()["PowerState"], "On");
    let deaf = Server::of(dell()).fault(&action, Fault::Raw("{}".into())).start().await.unwrap();
    let said = target(&deaf, DELL).act(&power(Power::Off)).unwrap_err();
    assert!(said.to_string().ends_with("it is still On"), "what is said is not believed: {said}");
}

#[tokio::test(flavor = "multi_thread")]
async fn media_are_ejected_by_action_or_by_patch() {
    for (mut tree, kind) in [(hpe_dl380(), "POST"), (lenovo_sr650(), "PATCH")] {
        let slots: Vec<String> = tree
            .documents
            .keys()
            .filter(|path| path.contains("VirtualMedia/") && !path.contains("Actions"))
            .cloned()
            .collect();
        for path in &slots {
            tree.set(path, "/Inserted", json!(false)).set(path, "/Image", Value::Null);
        }
        let slot = slots.first().unwrap();
        tree.set(slot, "/Inserted", json!(true)).set(
            slot,
            "/Image",
            json!("http://10.0.0.1/x.iso"),
        );
        let system = tree.get("/redfish/v1/Systems").unwrap()["Members"][0]["@odata.id"].clone();
        let server = Server::of(tree).start().await.unwrap();
        let target = target(&server, system.as_str().unwrap());
        let eject = step(Action::EjectMedia);
        assert_eq!(target.look(&eject).unwrap().standing, Standing::Ahead, "{kind}");
        target.act(&eject).unwrap();
        assert_eq!(changes(&server).len(), 1);
        assert_eq!(changes(&server)[0].0, kind);
        assert_eq!(target.look(&eject).unwrap().standing, Standing::Done, "{kind}");
        assert!(target.undo(&eject, None).is_err());
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn wrong_credentials_and_a_bmc_that_is_gone_are_told_apart() {
    let server = Server::of(dell()).credentials("admin", "another").start().await.unwrap();
    let refused = target(&server, DELL).look(&power(Power::Off)).unwrap_err();
    assert!(matches!(refused, Trouble::Refused(_)), "{refused:?}");
    let gone = target(&server, DELL);
    drop(server);
    tokio::time::sleep(Duration::from_millis(200)).await;
    let lost = gone.look(&power(Power::Off)).unwrap_err();
    assert!(matches!(lost, Trouble::Lost(_)), "{lost:?}");
}
