//! Learners of compaction triggers (protocol section 3), and the frozen policy that ships one.
