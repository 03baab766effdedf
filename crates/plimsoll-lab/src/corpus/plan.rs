//! Which scenarios there are. The same faults and the same seed give the same plan.

use super::{Class, Cluster, Spec, clusters};
use crate::dice::Dice;
use crate::fault::{Fault, Pick};

const PAIRS: usize = 60;

/// The second of each could have caused the first, were it not the younger of the two.
const ORDERS: &[(&str, &str)] = &[
    ("ingress-canary-failing", "oauth-route-refused"),
    ("ingress-canary-failing", "oauth-route-timeout"),
    ("kcm-certificate", "certificate-expired"),
    ("node-out-of-memory", "node-memory-pressure"),
    ("pleg-unhealthy", "node-memory-pressure"),
    ("remote-api-flaky", "apiserver-oom"),
];

/// Faults that the plan asks for by name and that there are not (any more).
pub fn unknown_names(faults: &[Fault]) -> Vec<&'static str> {
    let named = ORDERS.iter().flat_map(|(first, second)| [*first, *second]);
    named.filter(|id| !faults.iter().any(|fault| fault.id == *id)).collect()
}

pub fn plan(faults: &[Fault], seed: u64) -> Vec<Spec<'_>> {
    let mut plan = Plan { specs: Vec::new(), seed };
    for (number, fault) in faults.iter().enumerate() {
        let mut dice = Dice::named(seed, &fault.id);
        let places: Vec<&'static Cluster> =
            clusters().iter().filter(|cluster| cluster.fits(fault)).collect();
        if places.is_empty() {
            continue;
        }
        // Two clusters that differ, where there are two.
        let first = dice.below(places.len());
        let second = (first + 1 + dice.below(places.len().max(2) - 1)) % places.len();
        for place in [first, second] {
            plan.add(Class::Single, &[fault], places[place], 0);
        }
        let third = places[dice.below(places.len())];
        plan.add(Class::Deleted30, &[fault], third, 30);
        // The other classes take turns, so that a run stays short while faults are added.
        match number % 4 {
            0 => plan.add(Class::Deleted, &[fault], third, [10, 20, 40, 50][dice.below(4)]),
            1 if !fault.installing => plan.add(Class::Noisy, &[fault], third, 0),
            2 if !fault.installing => plan.add(Class::Late, &[fault], third, 0),
            3 if !fault.installing => plan.add(Class::Recovered, &[fault], third, 0),
            _ => {}
        }
    }
    plan.pairs(faults);
    plan.orders(faults);
    for cluster in clusters() {
        for _ in 0..2 {
            plan.add(Class::Healthy, &[], cluster, 0);
        }
        if cluster.can_be_installing() {
            plan.add(Class::Installing, &[], cluster, 0);
            plan.add(Class::Upgrading, &[], cluster, 0);
        }
    }
    plan.specs
}

struct Plan<'f> {
    specs: Vec<Spec<'f>>,
    seed: u64,
}

impl<'f> Plan<'f> {
    fn add(&mut self, class: Class, faults: &[&'f Fault], cluster: &'static Cluster, deleted: u64) {
        let names: Vec<&str> = faults.iter().map(|fault| fault.id.as_str()).collect();
        let same = |spec: &Spec<'_>| {
            spec.class == class
                && spec.cluster == cluster
                && spec.faults_named() == names.join(" + ")
        };
        let again = self.specs.iter().filter(|spec| same(spec)).count();
        let name = format!("{} {} {} {again}", class.name(), names.join(" "), cluster.name);
        self.specs.push(Spec {
            number: self.specs.len(),
            class,
            faults: faults.to_vec(),
            cluster,
            seed: self.seed ^ crate::base::hash(&name),
            deleted,
        });
    }

    fn pairs(&mut self, faults: &'f [Fault]) {
        let mut dice = Dice::named(self.seed, "pairs");
        let mut made = 0;
        let mut tries = 0;
        while made < PAIRS && tries < PAIRS * 40 {
            tries += 1;
            let (Some(one), Some(two)) = (dice.pick(faults), dice.pick(faults)) else { return };
            let places: Vec<&'static Cluster> = clusters()
                .iter()
                .filter(|cluster| cluster.fits(one) && cluster.fits(two))
                .collect();
            let Some(place) = dice.pick(&places) else { continue };
            if !compatible(one, two) {
                continue;
            }
            self.add(Class::Pair, &[one, two], place, 0);
            if made % 4 == 0 {
                self.add(Class::PairDeleted, &[one, two], place, 20);
            }
            made += 1;
        }
    }

    fn orders(&mut self, faults: &'f [Fault]) {
        let named = |id: &str| faults.iter().find(|fault| fault.id == id);
        for (first, second) in ORDERS {
            let (Some(first), Some(second)) = (named(first), named(second)) else { continue };
            let mut dice = Dice::named(self.seed, &format!("{} {}", first.id, second.id));
            let places: Vec<&'static Cluster> =
                clusters().iter().filter(|c| c.fits(first) && c.fits(second)).collect();
            for place in [dice.pick(&places), dice.pick(&places)].into_iter().flatten() {
                self.add(Class::Order, &[first, second], place, 0);
            }
        }
    }
}

/// Two faults that can stand side by side, each seen for itself.
fn compatible(one: &Fault, two: &Fault) -> bool {
    let names = |fault: &Fault| -> Vec<String> {
        fault.roots.iter().map(|(id, entity)| format!("{id} {entity}")).collect()
    };
    let cluster_wide = |fault: &Fault| fault.pick == Pick::None;
    let same_break = cluster_wide(one)
        && cluster_wide(two)
        && one.breaks.iter().any(|a| {
            two.breaks
                .iter()
                .any(|b| a.word == b.word && a.arguments.first() == b.arguments.first())
        });
    // Where nothing but a log could be gathered there is no place for the evidence of a second fault.
    let sweeps = |fault: &Fault| fault.edits.1.lines().any(|line| line.starts_with("remove "));
    // One that hides the other, or that says the same of the same thing, makes no pair.
    one.id != two.id
        && !sweeps(one)
        && !sweeps(two)
        && one.installing == two.installing
        && names(one).iter().all(|name| !names(two).contains(name))
        && !same_break
        && !two.breaks.iter().any(|found| one.cancels.iter().any(|word| word == found.word))
        && !one.breaks.iter().any(|found| two.cancels.iter().any(|word| word == found.word))
}
