//! Chance that is the same in every run.

/// A SplitMix64 sequence.
#[derive(Clone, Debug)]
pub struct Dice(u64);

impl Dice {
    pub fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// A sequence of its own for each name, so that one more roll here moves nothing there.
    pub fn named(seed: u64, name: &str) -> Self {
        Self(seed ^ crate::base::hash(name))
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ (mixed >> 31)
    }

    /// A number below `bound`; 0 when there is none.
    pub fn below(&mut self, bound: usize) -> usize {
        if bound == 0 { 0 } else { (self.next() % bound as u64) as usize }
    }

    /// A number of the window, both ends in it.
    pub fn within(&mut self, (from, to): (i64, i64)) -> i64 {
        from + (self.next() % (to - from + 1).max(1) as u64) as i64
    }

    pub fn chance(&mut self, percent: u64) -> bool {
        self.next() % 100 < percent
    }

    pub fn pick<'a, T>(&mut self, from: &'a [T]) -> Option<&'a T> {
        from.get(self.below(from.len()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_seed_gives_one_sequence_and_stays_in_its_bounds() {
        let mut dice = Dice::new(7);
        let rolls: Vec<i64> = (0..200).map(|_| dice.within((40, 50))).collect();
        assert!(rolls.iter().all(|roll| (40..=50).contains(roll)));
        assert!(rolls.contains(&40) && rolls.contains(&50));
        let mut again = Dice::new(7);
        assert_eq!(rolls[0], again.within((40, 50)));
        assert_eq!(dice.below(0), 0);
        assert_eq!(dice.pick::<u8>(&[]), None);
        assert_ne!(Dice::named(7, "a").below(1 << 30), Dice::named(7, "b").below(1 << 30));
    }
}
