//! SJC: entries of a compaction summary, their sources, and the judge that keeps or drops them.
