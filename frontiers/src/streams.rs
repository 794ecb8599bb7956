//! Randomness: named ChaCha streams, the only source of it in the project.
//!
//! A stream is keyed by (base seed, stage name, index), so a result depends neither on the number of threads nor on
//! which other stages ran (protocol section 4). Integers and shuffles are drawn here rather than by a library, because
//! those of the `rand` crate are not value-stable across releases.

use rand_chacha::ChaCha12Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};
use sha2::{Digest, Sha256};

/// A base seed from which every stream is derived.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Streams {
    seed: u64,
}

impl Streams {
    /// Streams of a base seed.
    pub fn new(seed: u64) -> Streams {
        Streams { seed }
    }

    /// The base seed.
    pub fn seed(&self) -> u64 {
        self.seed
    }

    /// The stream of a stage at an index (a repetition, a draw, a split).
    ///
    /// The ChaCha key is SHA-256 of the seed (8 bytes, little endian) and the stage name; the index is the ChaCha
    /// stream number.
    pub fn stream(&self, stage: &str, index: u64) -> Stream {
        let mut hash = Sha256::new();
        hash.update(self.seed.to_le_bytes());
        hash.update(stage.as_bytes());
        let mut rng = ChaCha12Rng::from_seed(hash.finalize().into());
        rng.set_stream(index);
        Stream { rng }
    }
}

/// One stream of random numbers.
pub struct Stream {
    rng: ChaCha12Rng,
}

impl Stream {
    /// 64 uniform bits.
    pub fn next_u64(&mut self) -> u64 {
        self.rng.next_u64()
    }

    /// A uniform integer in 0..n, without bias (multiply and reject, Lemire 2019). 0 for n = 0.
    pub fn below(&mut self, n: u32) -> u32 {
        let threshold = n.wrapping_neg() % n.max(1);
        loop {
            let product = u64::from(self.rng.next_u32()) * u64::from(n);
            if product as u32 >= threshold {
                return (product >> 32) as u32;
            }
        }
    }

    /// A uniform number in [0, 1), a multiple of 2^-53.
    pub fn unit(&mut self) -> f64 {
        (self.next_u64() >> 11) as f64 * (1.0 / 9_007_199_254_740_992.0)
    }

    /// Shuffles in place (Fisher-Yates from the end).
    ///
    /// # Panics
    /// Never for slices shorter than 2^32 elements, which is what a corpus holds.
    pub fn shuffle<T>(&mut self, items: &mut [T]) {
        for last in (1..items.len()).rev() {
            let other = self.below(u32::try_from(last + 1).unwrap_or(u32::MAX)) as usize;
            items.swap(last, other);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stream_depends_on_seed_stage_and_index_only() {
        let streams = Streams::new(7);
        let first = |stage: &str, index| streams.stream(stage, index).next_u64();
        assert_eq!(first("folds", 0), first("folds", 0));
        assert_ne!(first("folds", 0), first("folds", 1));
        assert_ne!(first("folds", 0), first("bootstrap", 0));
        assert_ne!(first("folds", 0), Streams::new(8).stream("folds", 0).next_u64());
    }

    /// Folds, draws and splits of every seed hang on these numbers: whoever changes them says so in the changelog.
    #[test]
    fn a_seed_keeps_its_numbers() {
        let mut stream = Streams::new(7).stream("folds/task", 3);
        let mut items: Vec<u32> = (0..8).collect();
        stream.shuffle(&mut items);
        let drawn: Vec<u32> = (0..5).map(|_| stream.below(140)).collect();
        assert_eq!(items, [0, 1, 6, 5, 3, 4, 7, 2]);
        assert_eq!(drawn, [137, 45, 40, 61, 105]);
        assert_eq!(stream.next_u64(), 3_547_931_446_841_698_292);
    }

    #[test]
    fn below_is_uniform() {
        let mut stream = Streams::new(1).stream("test", 0);
        let mut counts = [0u32; 7];
        for _ in 0..70_000 {
            counts[stream.below(7) as usize] += 1;
        }
        // each count is binomial(70,000, 1/7): sd 92.6; five sd
        assert!(counts.iter().all(|&count| count.abs_diff(10_000) < 463), "{counts:?}");
    }

    #[test]
    fn a_shuffle_is_a_permutation() {
        let mut items: Vec<u32> = (0..100).collect();
        Streams::new(1).stream("test", 1).shuffle(&mut items);
        assert_ne!(items, (0..100).collect::<Vec<_>>());
        items.sort_unstable();
        assert_eq!(items, (0..100).collect::<Vec<_>>());
    }
}
