//! What a step is by its verb alone, and slips of the pen in it.

use crate::{Pack, PackFile};

fn load(step: &str) -> Result<Pack, Vec<String>> {
    let text = format!(
        "repairs:\n- id: r\n  title: R\n  steps:\n  - {step}\n  escalate: e\n  source: s\n"
    );
    let file = PackFile { path: "p/a/repair.yaml".into(), text };
    Pack::load(&[file]).map_err(|errors| errors.iter().map(ToString::to_string).collect())
}

fn blast(step: &str) -> u8 {
    let pack = load(step).unwrap_or_else(|errors| panic!("{step}: {errors:?}"));
    pack.repairs[0].steps[0].blast
}

#[test]
fn a_deletion_reaches_as_far_as_its_kind() {
    assert_eq!(blast("{delete: Pod/a/b, title: t}"), 1);
    assert_eq!(blast("{delete: 'Pod/a/{each}', each: nodes, title: t}"), 1);
    assert_eq!(blast("{delete: CertificateSigningRequest/a, title: t}"), 1);
    assert_eq!(blast("{delete: Secret/a/b, title: t}"), 3);
    assert_eq!(blast("{delete: Machine/a/b, title: t}"), 3);
    assert_eq!(blast("{delete: '{kind}/a/b', title: t}"), 3);
    assert_eq!(blast("{delete: Machine/a/b, title: t, blast: 1}"), 3, "never less than its verb");
    assert_eq!(blast("{delete: Machine/a/b, title: t, blast: 5}"), 5);
}

#[test]
fn a_maker_is_one_that_there_is() {
    let step = |maker: &str| format!("{{create: ConfigMap/a/b, title: t, maker: {maker}}}");
    assert!(load(&step("mcs-ca-configmap")).is_ok());
    let errors = load(&step("mcs-ca-confgmap")).err().unwrap_or_default();
    assert_eq!(errors.len(), 1, "{errors:?}");
    assert!(errors[0].starts_with("p/a/repair.yaml:5:"), "{errors:?}");
    assert!(errors[0].contains("nobody makes 'mcs-ca-confgmap'; makers: "), "{errors:?}");
    assert!(errors[0].contains("mcs-ca-configmap, mcs-ca-secret"), "{errors:?}");
}
