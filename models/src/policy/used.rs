//! Which columns a fitted model looks at: only those are required of a host.

use crate::Model;
use crate::boosting::BoostedNode;
use crate::tree::Node;
use std::collections::BTreeSet;

/// Indices of the columns whose value can change a score, ascending.
pub fn used_columns(model: &Model) -> Vec<u32> {
    let mut columns = BTreeSet::new();
    match model {
        Model::Constant(_) => {}
        Model::Tree(tree) => of_node(&tree.root, &mut columns),
        Model::Logistic(linear) => {
            let weights = linear.dense.iter().map(|term| term.weight).chain(linear.ones.iter().copied());
            columns.extend(weights.enumerate().filter(|(_, weight)| weight.abs() > 0.0).map(|(at, _)| at as u32));
        }
        Model::Boosted(boosted) => {
            columns.extend(boosted.trees.iter().flatten().filter_map(|node| match node {
                BoostedNode::Split { column, .. } => Some(*column),
                BoostedNode::Leaf { .. } => None,
            }));
        }
    }
    columns.into_iter().collect()
}

fn of_node(node: &Node, columns: &mut BTreeSet<u32>) {
    if let Some(split) = &node.split {
        columns.insert(split.column);
        of_node(&split.left, columns);
        of_node(&split.right, columns);
    }
}
