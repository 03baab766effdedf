//! A disk that is mounted, or a folder: no service runs there, and no link leads out of it.

use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;

use plimsoll_act::{LOCALHOST_KUBECONFIG, NodeTarget, Standing, Target, Trouble, read_file};
use plimsoll_live::Node;
use plimsoll_model::plan::{Action, Content, LOCALHOST_MAKER, UnitVerb, sha256};
use serde_json::json;
use tempfile::tempdir;

use crate::support::*;

#[test]
fn a_file_is_written_and_taken_back() {
    let root = tempdir().unwrap();
    lay_out(root.path());
    let before = tree(root.path());
    let target = below(root.path(), &Nobody);
    let step = write(NEW);
    let first = target.look(&step).unwrap();
    does(&target, &step);
    let written = at(root.path(), KUBECONFIG);
    assert_eq!(fs_err::read_to_string(&written).unwrap(), NEW);
    assert_eq!(fs_err::metadata(&written).unwrap().permissions().mode() & 0o7777, 0o600);
    let after = target.look(&step).unwrap();
    assert_eq!(after.standing, Standing::Done);
    assert_ne!(after.hash, first.hash);
    let kept = target.keep(&step).unwrap();
    assert_eq!(kept.len(), 1);
    assert_eq!(kept[0].sha256, sha256(b"kind: Config\ntoken: old\n"), "the first copy counts");
    let place = "/var/lib/plimsoll/20251203-1/1/kept/files/etc/kubernetes/kubeconfig";
    assert_eq!(kept[0].place, format!("master-1:{place}"));
    assert!(at(root.path(), place).exists());
    let folder = fs_err::metadata(at(root.path(), "/var/lib/plimsoll")).unwrap();
    assert_eq!(folder.permissions().mode() & 0o7777, 0o700);
    target.undo(&step, None).unwrap();
    assert_eq!(tree(root.path()), before);
    assert_eq!(target.look(&step).unwrap().hash, first.hash);
    does(&target, &step);
    assert_eq!(standing(&target, &step), Standing::Done);
}

#[test]
fn what_was_not_there_is_gone_again() {
    let root = tempdir().unwrap();
    lay_out(root.path());
    fs_err::remove_file(at(root.path(), KUBECONFIG)).unwrap();
    let before = tree(root.path());
    let target = below(root.path(), &Nobody);
    let step = write(NEW);
    does(&target, &step);
    assert_eq!(standing(&target, &step), Standing::Done);
    assert_eq!(target.keep(&step).unwrap(), []);
    target.undo(&step, None).unwrap();
    assert_eq!(tree(root.path()), before);
}

#[test]
fn what_somebody_else_wrote_is_left_alone() {
    let root = tempdir().unwrap();
    lay_out(root.path());
    let target = below(root.path(), &Nobody);
    let step = write(NEW);
    target.keep(&step).unwrap();
    fs_err::write(at(root.path(), KUBECONFIG), "theirs").unwrap();
    assert!(matches!(standing(&target, &step), Standing::Elsewhere(_)));
    assert!(matches!(target.act(&step), Err(Trouble::Stale(_))));
    assert!(matches!(target.undo(&step, None), Err(Trouble::Stale(_))));
    let now = tree(root.path());
    assert!(now["etc/kubernetes/kubeconfig"].ends_with("theirs"));
    assert!(!now.keys().any(|name| name.contains(".plimsoll")), "{now:#?}");
}

#[test]
fn a_step_is_taken_back_when_nobody_can_make_its_content_any_more() {
    let root = tempdir().unwrap();
    lay_out(root.path());
    let before = tree(root.path());
    let step = made_by("bootstrap-kubeconfig", KUBECONFIG);
    let target = below(root.path(), &Nobody);
    assert!(matches!(target.look(&step), Err(Trouble::Lost(_))));
    assert!(matches!(target.rehearse(&step), Err(Trouble::Lost(_))));
    // As a session that still could make it left it.
    does(&target, &write(NEW));
    assert_eq!(standing(&target, &step), Standing::Done);
    target.undo(&step, None).unwrap();
    assert_eq!(standing(&target, &step), Standing::Ahead);
    assert_eq!(tree(root.path()), before);
}

#[test]
fn files_are_put_aside_by_pattern_and_put_back() {
    let root = tempdir().unwrap();
    lay_out(root.path());
    let before = tree(root.path());
    let target = below(root.path(), &Nobody);
    let step = retire();
    does(&target, &step);
    assert_eq!(standing(&target, &step), Standing::Done);
    let now = tree(root.path());
    assert_eq!(
        now.keys().map(String::as_str).collect::<Vec<_>>(),
        ["etc/kubernetes/kubeconfig", "var/lib/kubelet/pki/kubelet-server-2025-12-03.pem"]
    );
    assert_eq!(target.keep(&step).unwrap().len(), 4, "a link is kept as one");
    target.undo(&step, None).unwrap();
    assert_eq!(tree(root.path()), before);
    assert_eq!(standing(&target, &step), Standing::Ahead);
}

#[test]
fn what_was_made_anew_is_not_put_back() {
    let root = tempdir().unwrap();
    lay_out(root.path());
    let target = below(root.path(), &Nobody);
    let step = retire();
    does(&target, &step);
    let anew = at(root.path(), "/var/lib/kubelet/pki/kubelet-client-2026-01-01.pem");
    fs_err::write(&anew, "new key").unwrap();
    assert!(matches!(standing(&target, &step), Standing::Elsewhere(_)));
    let said = target.undo(&step, None).unwrap_err();
    assert!(matches!(&said, Trouble::Stale(why) if why.contains("was made anew since")), "{said}");
    assert_eq!(fs_err::read_to_string(anew).unwrap(), "new key");
    assert!(!at(root.path(), "/var/lib/kubelet/kubeconfig").exists());
}

#[test]
fn nothing_to_put_aside_is_no_fault() {
    let root = tempdir().unwrap();
    fs_err::create_dir_all(root.path().join("var/lib/kubelet/pki")).unwrap();
    let target = below(root.path(), &Nobody);
    let step = retire();
    does(&target, &step);
    assert_eq!(standing(&target, &step), Standing::Done);
    target.undo(&step, None).unwrap();
    assert_eq!(standing(&target, &step), Standing::Ahead);
}

#[test]
fn a_link_leads_nowhere_else() {
    let outside = tempdir().unwrap();
    fs_err::write(outside.path().join("kubeconfig"), "outside").unwrap();
    let root = tempdir().unwrap();
    fs_err::create_dir_all(root.path().join("etc")).unwrap();
    symlink(outside.path(), root.path().join("etc/kubernetes")).unwrap();
    let target = below(root.path(), &Nobody);
    let step = write(NEW);
    assert!(matches!(target.look(&step), Err(Trouble::Refused(_))));
    assert!(matches!(target.keep(&step), Err(Trouble::Refused(_))));
    assert!(matches!(target.act(&step), Err(Trouble::Refused(_))));
    fs_err::remove_file(root.path().join("etc/kubernetes")).unwrap();
    fs_err::create_dir(root.path().join("etc/kubernetes")).unwrap();
    symlink(outside.path().join("kubeconfig"), at(root.path(), KUBECONFIG)).unwrap();
    assert!(matches!(standing(&target, &step), Standing::Elsewhere(_)));
    // Nor is anything kept outside.
    fs_err::remove_file(at(root.path(), KUBECONFIG)).unwrap();
    fs_err::create_dir_all(root.path().join("var")).unwrap();
    symlink(outside.path(), root.path().join("var/lib")).unwrap();
    assert!(matches!(target.keep(&step), Err(Trouble::Refused(_))));
    let left: Vec<_> = fs_err::read_dir(outside.path()).unwrap().collect();
    assert_eq!(left.len(), 1);
    assert_eq!(fs_err::read_to_string(outside.path().join("kubeconfig")).unwrap(), "outside");
}

#[test]
fn no_service_runs_in_a_folder() {
    let root = tempdir().unwrap();
    let target = below(root.path(), &Nobody);
    for verb in [UnitVerb::Start, UnitVerb::Stop, UnitVerb::Restart] {
        let said = target.look(&unit(verb)).unwrap_err().to_string();
        assert!(said.starts_with("no services run below "), "{said}");
        assert!(target.act(&unit(verb)).is_err());
    }
}

#[test]
fn the_nodes_own_kubeconfig_is_copied_on_the_node() {
    let root = tempdir().unwrap();
    lay_out(root.path());
    lend(root.path());
    let lent = fs_err::read_to_string(at(root.path(), LOCALHOST_KUBECONFIG)).unwrap();
    let before = tree(root.path());
    let target = below(root.path(), &Nobody);
    let step = made_by(LOCALHOST_MAKER, "/var/lib/kubelet/kubeconfig");
    does(&target, &step);
    assert_eq!(standing(&target, &step), Standing::Done);
    let written = at(root.path(), "/var/lib/kubelet/kubeconfig");
    assert_eq!(fs_err::read_to_string(written).unwrap(), lent);
    target.undo(&step, None).unwrap();
    assert_eq!(tree(root.path()), before);
}

/// A kubelet copies certificate and key of its kubeconfig into its store when it starts.
#[test]
fn what_was_lent_is_given_back_with_every_copy_that_the_kubelet_made() {
    let root = tempdir().unwrap();
    lay_out(root.path());
    lend(root.path());
    let before = tree(root.path());
    let target = below(root.path(), &Nobody);
    does(&target, &borrow());
    kubelet_stores(root.path(), LENT);
    assert_eq!(standing(&target, &borrow()), Standing::Done);
    assert_ne!(tree(root.path()), before);
    target.undo(&borrow(), None).unwrap();
    assert_eq!(tree(root.path()), before);
    assert_eq!(standing(&target, &borrow()), Standing::Ahead);
}

/// Somebody put the kubeconfig back, as the old recipes say, and not what the kubelet made of it.
#[test]
fn copies_go_also_where_the_kubeconfig_was_put_back_by_hand() {
    let root = tempdir().unwrap();
    lay_out(root.path());
    lend(root.path());
    let before = tree(root.path());
    let kubeconfig = at(root.path(), "/var/lib/kubelet/kubeconfig");
    let aside = root.path().join("aside");
    let keep = |from: &Path, to: &Path| {
        let done = std::process::Command::new("cp").arg("-a").arg(from).arg(to).status();
        assert!(done.unwrap().success());
    };
    keep(&kubeconfig, &aside);
    let target = below(root.path(), &Nobody);
    does(&target, &borrow());
    kubelet_stores(root.path(), LENT);
    keep(&aside, &kubeconfig);
    fs_err::remove_file(&aside).unwrap();
    target.undo(&borrow(), None).unwrap();
    assert_eq!(tree(root.path()), before);
}

#[test]
fn what_has_no_certificate_is_not_lent() {
    let root = tempdir().unwrap();
    lay_out(root.path());
    lend(root.path());
    fs_err::write(at(root.path(), LOCALHOST_KUBECONFIG), "users: [{user: {token: x}}]\n").unwrap();
    let target = below(root.path(), &Nobody);
    target.keep(&borrow()).unwrap();
    assert!(
        matches!(target.act(&borrow()), Err(Trouble::Failed(why)) if why.contains("certificate"))
    );
}

#[test]
fn an_identity_that_the_kubelet_got_for_itself_meanwhile_stays() {
    let root = tempdir().unwrap();
    lay_out(root.path());
    lend(root.path());
    let mut wanted = tree(root.path());
    let target = below(root.path(), &Nobody);
    does(&target, &borrow());
    kubelet_stores(root.path(), LENT);
    kubelet_stores(root.path(), "master-1");
    let own = |name: &str| format!("var/lib/kubelet/pki/kubelet-client-{name}.pem");
    let now = tree(root.path());
    for name in ["current", "of-master-1"] {
        wanted.insert(own(name), now[&own(name)].clone());
    }
    target.undo(&borrow(), None).unwrap();
    assert_eq!(tree(root.path()), wanted);
}

#[test]
fn a_path_or_session_that_could_mean_more_is_refused() {
    let root = tempdir().unwrap();
    lay_out(root.path());
    let target = below(root.path(), &Nobody);
    let content = Content::Plan { value: json!("x") };
    for path in ["etc/x", "/etc/../x", "/etc//x", "/etc/*", "/etc/a b", "/etc/$(id)", "/"] {
        let action = Action::WriteFile { path: path.into(), mode: 0o600, content: content.clone() };
        assert!(matches!(target.keep(&step(1, action)), Err(Trouble::Refused(_))), "{path}");
    }
    for path in ["/var/lib/*/kubeconfig", "/var/lib/kubelet/*", "/var/lib/kubelet/[a-z]*"] {
        let action = Action::Retire { paths: vec![path.into()] };
        assert!(matches!(target.look(&step(1, action)), Err(Trouble::Refused(_))), "{path}");
    }
    for session in ["", "../x", "a/b", ".x", "a b"] {
        let node = Node::Here { root: root.path().into() };
        assert!(NodeTarget::new("master-1", node, session, &Nobody).is_err(), "{session}");
    }
}

#[test]
fn a_file_is_read_for_makers_only_from_inside() {
    let root = tempdir().unwrap();
    lay_out(root.path());
    let node = Node::Here { root: root.path().into() };
    let text = read_file(&node, "/var/lib/kubelet/kubeconfig").unwrap();
    assert_eq!(text, b"kind: Config\n");
    let said = read_file(&node, "/etc/machine-config-daemon/currentconfig").unwrap_err();
    assert!(matches!(&said, Trouble::Failed(why) if why.contains("there is no")), "{said}");
    assert!(matches!(read_file(&node, "/etc/../etc/passwd"), Err(Trouble::Refused(_))));
}
