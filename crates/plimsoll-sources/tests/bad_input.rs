//! Nothing that is given panics, hangs or writes; what can be read of it is used.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod common;

use std::io::Write;
use std::path::PathBuf;

use common::*;
use plimsoll_model::snapshot::{GapStatus, Needs};
use plimsoll_sources::{NoProgress, read, read_tree};
use proptest::prelude::*;

fn refused(name: &str, data: &[u8]) -> String {
    read_bytes(name, data).map(|snapshot| gaps(&snapshot)).unwrap_err().reason
}

#[test]
fn nothing_to_read_is_an_error_with_a_plain_reason() {
    let missing = read(&[PathBuf::from("/no/such/gather.tar")], &needs(), &NoProgress).unwrap_err();
    assert_eq!(
        missing.to_string(),
        "cannot read /no/such/gather.tar: there is no such file or folder"
    );
    let empty = tempfile::tempdir().unwrap();
    let error = read(&[empty.path().into()], &needs(), &NoProgress).unwrap_err();
    assert_eq!(error.reason, "the folder is empty");
    assert_eq!(refused("x.tar.gz", b""), "the file is empty");
    assert!(refused("x.tar.gz", b"PK\x03\x04zip").starts_with("it is neither a tar archive"));
    assert!(refused("x.tar", &[0; 2000]).starts_with("it is neither a tar archive"));
    assert_eq!(refused("x.tar.gz", &gzip(&tar(&sample()))[..12]), "the data ends too early");
    let photos = tar(&tree(&[("photos/1.jpg", "x")]));
    assert_eq!(
        refused("x.tar", &photos),
        "it holds nothing that is known of a cluster or a machine"
    );
    assert_eq!(read(&[], &needs(), &NoProgress).unwrap_err().reason, "no location was given");
}

#[test]
fn one_bad_location_among_good_ones_is_a_gap() {
    let (_kept, good) = file("good.tar", &tar(&sample()));
    let snapshot = read(&[PathBuf::from("/no/such"), good], &needs(), &NoProgress).unwrap();
    assert!(!snapshot.sources[0].complete && snapshot.sources[1].complete);
    assert_eq!(gaps(&snapshot), ["Unreadable such: there is no such file or folder"]);
    assert_eq!(snapshot.documents.len(), 3);
}

#[test]
fn a_cut_archive_gives_what_comes_before_the_cut() {
    // Random bytes do not compress, so that every part of the archive is worth something.
    let mut files = sample();
    let mut state = 1u64;
    let mut random = || {
        state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (state >> 56) as u8
    };
    for name in ["b-noise", "image/m-noise", "image/z-noise"] {
        files.insert(name.into(), std::iter::repeat_with(&mut random).take(300_000).collect());
    }
    let tar = tar(&files);
    let whole = read_bytes("x", &tar).unwrap();
    let zstd = zstd::encode_all(tar.as_slice(), 1).unwrap();
    for (form, packed) in
        [("tar", tar.clone()), ("gzip", gzip(&tar)), ("xz", xz(&tar)), ("zstd", zstd)]
    {
        let mut seen = 0;
        for tenth in 1..10 {
            let cut = &packed[..packed.len() * tenth / 10];
            let Ok(snapshot) = read_bytes("x.tar.gz", cut) else { continue };
            assert!(!snapshot.sources[0].complete);
            assert!(
                has_gap(&snapshot, GapStatus::Cut, "cut off or damaged after"),
                "{:?}",
                gaps(&snapshot)
            );
            assert!(snapshot.documents.len() <= whole.documents.len());
            seen = seen.max(snapshot.documents.len());
        }
        assert_eq!(seen, whole.documents.len(), "{form}: a cut near the end costs no document");
    }
}

#[test]
fn a_cut_inside_a_list_costs_its_last_item_and_its_proof() {
    let list = pod_list(&[("a", "1", 1), ("b", "2", 2), ("c", "3", 3)]);
    let inside_c = list.find("name: c").unwrap() + 7;
    let files = tree(&[("namespaces/n/core/pods.yaml", &list[..inside_c])]);
    for snapshot in [
        read_tree("x", &files, &needs()),
        read_bytes(
            "x.tar",
            &tar(&tree(&[("namespaces/n/core/pods.yaml", &list)]))[..512 + inside_c],
        )
        .unwrap(),
    ] {
        assert_eq!(snapshot.documents.len(), 2);
        assert!(
            snapshot.collected.iter().all(|c| c.form == plimsoll_model::snapshot::Form::Objects)
        );
        assert!(has_gap(&snapshot, GapStatus::Cut, "pods.yaml"));
    }
}

#[test]
fn a_flipped_bit_is_noticed_wherever_it_is() {
    let packed = gzip(&tar(&sample()));
    for at in (10..packed.len() - 8).step_by(7) {
        let mut flipped = packed.clone();
        flipped[at] ^= 0x10;
        if let Ok(snapshot) = read_bytes("x.tar.gz", &flipped) {
            assert!(!snapshot.sources[0].complete, "byte {at}");
        }
    }
}

#[test]
fn paths_that_lead_out_and_links_are_never_followed() {
    let mut builder = tar::Builder::new(Vec::new());
    let mut add = |path: &str, kind: tar::EntryType, data: &[u8]| {
        let mut header = tar::Header::new_old();
        header.as_old_mut().name[..path.len()].copy_from_slice(path.as_bytes());
        header.set_entry_type(kind);
        header.set_size(data.len() as u64);
        if kind != tar::EntryType::Regular {
            header.set_link_name("/etc/passwd").unwrap();
        }
        header.set_cksum();
        builder.append(&header, data).unwrap();
    };
    let node = b"kind: Node\nmetadata:\n  name: m-0\n";
    add("/../../tmp/cluster-scoped-resources/core/nodes/m-0.yaml", tar::EntryType::Regular, node);
    add("cluster-scoped-resources/core/nodes/m-1.yaml", tar::EntryType::Symlink, b"");
    add("namespaces/n/pods/p/c/c/logs/current.log", tar::EntryType::Link, b"");
    add("unwanted", tar::EntryType::Symlink, b"");
    let snapshot = read_bytes("x.tar", &builder.into_inner().unwrap()).unwrap();
    assert_eq!(&*snapshot.documents[0].path, "tmp/cluster-scoped-resources/core/nodes/m-0.yaml");
    assert_eq!(snapshot.documents.len(), 1);
    assert_eq!(gaps(&snapshot).len(), 2, "{:?}", gaps(&snapshot));
    assert!(has_gap(&snapshot, GapStatus::Unreadable, "not followed"));
}

#[cfg(unix)]
#[test]
fn links_in_a_folder_are_not_followed_either() {
    let outside = tempfile::tempdir().unwrap();
    write(outside.path(), &sample());
    let folder = tempfile::tempdir().unwrap();
    write(folder.path(), &tree(&[("namespaces/n/core/pods.yaml", "items: []\nkind: List\n")]));
    std::os::unix::fs::symlink(outside.path(), folder.path().join("image")).unwrap();
    let node = "cluster-scoped-resources/core/nodes";
    std::fs::create_dir_all(folder.path().join(node)).unwrap();
    std::os::unix::fs::symlink("/etc/passwd", folder.path().join(node).join("m.yaml")).unwrap();
    let snapshot = read(&[folder.path().into()], &needs(), &NoProgress).unwrap();
    assert!(snapshot.documents.is_empty() && snapshot.logs.is_empty());
    assert_eq!(gaps(&snapshot).len(), 1);
}

#[cfg(unix)]
#[test]
fn nothing_behind_a_link_is_taken_for_the_nodes_own() {
    let (outside, root) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    write(outside.path(), &tree(&[("kubernetes/kubeconfig", "stranger"), ("hostname", "other")]));
    write(root.path(), &tree(&[("var/lib/kubelet/kubeconfig", "own")]));
    std::os::unix::fs::symlink(outside.path(), root.path().join("etc")).unwrap();
    let location = format!("node:{}", root.path().display());
    let needs = Needs { files: vec!["etc/kubernetes/kubeconfig".into()], ..needs() };
    let snapshot = read(&[location.into()], &needs, &NoProgress).unwrap();
    assert!(snapshot.files.is_empty(), "{:?}", snapshot.files.keys());
    assert!(has_gap(&snapshot, GapStatus::Unreadable, "behind a link"));
}

#[test]
fn a_path_without_end_is_a_gap() {
    let mut builder = tar::Builder::new(Vec::new());
    for path in [format!("{}x", "a/".repeat(3000)), "namespaces/n/core/pods.yaml".into()] {
        let mut header = tar::Header::new_gnu();
        header.set_size(0);
        builder.append_data(&mut header, path, &b""[..]).unwrap();
    }
    let snapshot = read_bytes("x.tar", &builder.into_inner().unwrap()).unwrap();
    assert!(has_gap(&snapshot, GapStatus::Unreadable, "its path is too long"));
    assert!(has_gap(&snapshot, GapStatus::Unreadable, "the file is empty"), "and reading goes on");
}

#[test]
fn an_archive_bomb_is_stopped() {
    // Half a gigabyte of zeros, again and again: gzip files may be concatenated.
    let mut header = tar::Header::new_gnu();
    header.set_path("namespaces/n/zeros").unwrap();
    header.set_size(100 << 30);
    header.set_cksum();
    let mut bomb = gzip(header.as_bytes());
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::best());
    for _ in 0..64 {
        encoder.write_all(&vec![0; 1 << 20]).unwrap();
    }
    let zeros = encoder.finish().unwrap();
    for _ in 0..64 {
        bomb.extend_from_slice(&zeros);
    }
    let snapshot = read_bytes("x.tar.gz", &bomb).unwrap();
    assert!(
        has_gap(&snapshot, GapStatus::Cut, "expands like an archive bomb"),
        "{:?}",
        gaps(&snapshot)
    );
}

#[test]
fn a_line_of_two_hundred_megabytes_is_searched_in_little_memory() {
    let mut packed = gzip(b"Oct 24 12:00:00 m-0 kubelet[1]: ");
    let filler = gzip(&vec![b'x'; 10 << 20]);
    for part in 0..20 {
        packed.extend_from_slice(&filler);
        if part == 9 {
            packed.extend(gzip(b" NEEDLE password=hunter2 "));
        }
    }
    packed.extend(gzip(b"\nOct 24 12:00:01 m-1 kubelet[1]: NEEDLE\n"));
    let mut files = tree(&[("timestamp", "2024-10-24 14:43:32 +0000 UTC m=+0.34\n")]);
    files.insert("nodes/m-0/m-0_logs_kubelet.gz".into(), packed);
    let snapshot = read_tree("x", &files, &needs());
    let hits: Vec<_> =
        snapshot.hits.iter().map(|h| (h.host.as_deref(), h.count, h.first.line)).collect();
    assert_eq!(hits, [(Some("m-0"), 1, 1), (Some("m-1"), 1, 2)]);
    let text = &snapshot.hits[0].first.text;
    assert!(text.contains("NEEDLE password=[redacted]") && text.chars().count() <= 400, "{text}");
    assert_eq!(snapshot.hits[0].first.time.unwrap().to_string(), "2024-10-24T12:00:00Z");
    assert_eq!(snapshot.logs[0].hosts, ["m-0", "m-1"]);
}

#[test]
fn text_that_is_not_text() {
    let mut files = sample();
    let path = "image/cluster-scoped-resources/core/nodes/m-9.yaml";
    files.insert(path.into(), b"kind: Node\nmetadata:\n  name: \xff\xfe\n".to_vec());
    files.insert(
        "image/namespaces/n/pods/p/c/c/logs/current.log".into(),
        b"\xff\xfe \x1b[31msystem:anonymous\x1b[0m \xc3\n".to_vec(),
    );
    let snapshot = read_tree("x", &files, &needs());
    assert_eq!(gaps(&snapshot), [format!("Unreadable {path}: it is not UTF-8 text")]);
    assert_eq!(snapshot.hits[0].first.text, "\u{fffd}\u{fffd} system:anonymous \u{fffd}");
}

#[test]
fn broken_members_are_gaps_of_their_own() {
    let mut files = sample();
    let log = gzip(b"2024-10-24T14:00:00Z system:anonymous\n");
    files.insert(
        "image/static-pods/kube-apiserver/m-0-startup.log.gz".into(),
        log[..log.len() - 6].to_vec(),
    );
    files.insert("image/insights-data/insights-1.tar.gz".into(), gzip(b"no tar"));
    files.insert("image/insights-data/insights-2.tar.gz".into(), Vec::new());
    files.insert(
        "image/cluster-scoped-resources/core/nodes/m-8.yaml".into(),
        b"error: no such thing\n".to_vec(),
    );
    files.insert("image/etcd_info/huge.json".into(), vec![b'x'; (8 << 20) + 1]);
    let snapshot = read_tree("x", &files, &needs());
    let texts = gaps(&snapshot);
    assert_eq!(
        texts,
        [
            "Unreadable image/cluster-scoped-resources/core/nodes/m-8.yaml: it holds no object",
            "Unreadable image/etcd_info/huge.json: larger than the 8 MiB that are kept of a file",
            "Unreadable image/insights-data/insights-1.tar.gz: it is not a tar archive",
            "Unreadable image/static-pods/kube-apiserver/m-0-startup.log.gz: the data ends too early",
        ]
    );
    assert_eq!(snapshot.hits.iter().filter(|hit| hit.signature == 0).count(), 3, "the cut log too");
}

#[test]
fn an_object_that_lost_its_end_is_no_other_object() {
    let files = tree(&[(
        "cluster-scoped-resources/core/nodes/worker-10.yaml",
        "kind: Node\nmetadata:\n  name: worker-1",
    )]);
    let snapshot = read_tree("x", &files, &needs());
    assert!(snapshot.documents.is_empty());
    assert!(has_gap(&snapshot, GapStatus::Unreadable, "middle of a line"));
}

#[test]
fn a_gather_that_says_it_failed_is_cut() {
    for line in [
        "[disk usage checker] Disk usage exceeds the volume percentage of 70 for mounted directory, terminating...",
        "gather did not start: timed out waiting for the condition",
        "error: gather never finished for pod x: timed out",
        "unable to retrieve container logs for cri-o://1",
    ] {
        let mut files = sample();
        files.insert("must-gather.logs".into(), format!("fine\n{line}\n").into());
        let snapshot = read_tree("x", &files, &needs());
        assert!(has_gap(&snapshot, GapStatus::Cut, "must-gather.logs:2 says"), "{line}");
        assert!(!snapshot.sources[0].complete);
    }
}

#[test]
fn a_signature_that_cannot_be_searched_for_is_said_so() {
    let mut needs = needs();
    needs.signatures.push(signature("broken", &["x"], Some("("), &[]));
    needs.signatures.push(signature("nothing", &[], None, &[]));
    let snapshot = read_tree("x", &sample(), &needs);
    assert_eq!(
        gaps(&snapshot),
        [
            "NotCollected log signature broken: its pattern is not a regular expression",
            "NotCollected log signature nothing: it names no text to look for",
        ]
    );
    assert!(snapshot.sources[0].complete);
    assert_eq!(snapshot.hits.len(), 5);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn arbitrary_bytes_never_panic(data: Vec<u8>, form in 0..4usize) {
        let magic: [&[u8]; 4] = [b"", &[0x1f, 0x8b, 8, 0], b"\xfd7zXZ\0", &[0x28, 0xb5, 0x2f, 0xfd]];
        let _ = read_bytes("x.tar", &[magic[form], &data].concat());
    }

    #[test]
    fn a_damaged_archive_never_panics(at in 0..8000usize, with: [u8; 4], cut in 0..9000usize) {
        let mut data = tar(&sample());
        data[at..at + 4].copy_from_slice(&with);
        data.truncate(data.len().min(cut + 600));
        let _ = read_bytes("x.tar", &data);
    }

    #[test]
    fn arbitrary_files_never_panic(data: Vec<u8>) {
        let mut files = Tree::new();
        for path in [
            "timestamp", "gather.logs", "namespaces/n/core/pods.yaml", "namespaces/n/pods/p/p.yaml",
            "namespaces/n/pods/p/c/c/logs/current.log", "host_service_logs/masters/kubelet_service.log",
            "x.tar.gz", "etcd_info/a.json",
        ] {
            files.insert(path.into(), data.clone());
        }
        read_tree("x", &files, &needs());
    }
}
