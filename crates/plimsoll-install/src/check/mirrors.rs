use crate::check::Context;
use crate::config::Mirror;
use crate::go::reference::repository_fault;
use crate::go::text::quote;
use crate::place::Placed;
use crate::refusal::{Bad, Collector};

pub(crate) fn check(context: &mut Context<'_>) {
    let config = context.config;
    check_list("imageContentSources", &config.content_sources, context.out);
    check_list("imageDigestSources", &config.digest_sources, context.out);
    let place = config.content_sources_place;
    if config.content_sources.is_empty() {
        return;
    }
    if !config.digest_sources.is_empty() {
        let text = "cannot set imageContentSources and imageDigestSources at the same time";
        // The installer shows another field's value here.
        let bad = Bad::Misprinted { printed: quote(config.publish.as_str()), stands: None };
        context.out.invalid("mirrors-twice", "imageContentSources", place, bad, text);
    }
    let text = "imageContentSources is deprecated, please use ImageDigestSources";
    context.out.warn("image-content-sources-deprecated", "imageContentSources", place, text);
}

fn check_list(name: &str, groups: &[Mirror], out: &mut Collector) {
    for (i, group) in groups.iter().enumerate() {
        check_repository(&format!("{name}[{i}].source"), &group.source, out);
        for (j, mirror) in group.mirrors.iter().enumerate() {
            check_repository(&format!("{name}[{i}].mirrors[{j}]"), mirror, out);
        }
    }
}

fn check_repository(path: &str, repository: &Placed<String>, out: &mut Collector) {
    if let Some(fault) = repository_fault(repository.as_str()) {
        let bad = Bad::text(repository.as_str());
        out.invalid("mirror-repository-invalid", path, repository.place, bad, fault);
    }
}
