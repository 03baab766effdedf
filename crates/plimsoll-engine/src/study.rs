//! The graph that an answer is drawn from, with names, for those who measure the inference. The
//! normal path does not come through here.

use plimsoll_causes::{Graph, blame};
use plimsoll_model::diagnosis::StateRef;
use plimsoll_model::{EntityId, FactBase, Snapshot};

use crate::pack::Pack;
use crate::{facts, ground, rules};

pub struct Study {
    pub graph: Graph,
    /// In the order of the graph's nodes.
    pub names: Vec<StateRef>,
}

/// The graph as it is, and as it would be if what is over counted as if it were still there.
pub fn study(pack: &Pack, snapshot: &Snapshot, memory: &facts::Memory) -> (Study, Study) {
    let (base, _) = facts::extract(pack, snapshot, Some(memory));
    let mut states = rules::run(pack, &base);
    let guarded = grounded(pack, &base, &states);
    let all = states.values_mut().flatten();
    all.for_each(|instance| instance.recovered = false);
    (guarded, grounded(pack, &base, &states))
}

fn grounded(pack: &Pack, base: &FactBase, states: &rules::States) -> Study {
    let grounded = ground::ground(pack, base, states);
    let name = |(entity, instance): &(&EntityId, &rules::Instance)| StateRef {
        id: pack.states[instance.state].id.clone(),
        entity: (*entity).clone(),
    };
    let names = grounded.nodes.iter().map(name).collect();
    Study { graph: grounded.graph, names }
}

impl Study {
    /// The roots that the inference would confirm or call probable on this graph.
    pub fn roots_of(&self, graph: &Graph) -> Vec<StateRef> {
        let explanation = blame(graph);
        let seen = explanation
            .roots
            .iter()
            .filter(|root| root.confidence != plimsoll_causes::Confidence::Suspected);
        self.named(seen.map(|root| root.node))
    }

    pub fn named(&self, nodes: impl IntoIterator<Item = usize>) -> Vec<StateRef> {
        let mut names: Vec<StateRef> =
            nodes.into_iter().map(|node| self.names[node].clone()).collect();
        names.sort();
        names
    }
}
