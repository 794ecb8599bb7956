//! Word stems, crude on purpose: what a summary and an output write differently is mostly an ending.

/// The stem of an English word in lower case: `ies`, `ied`, `ing`, `es`, `ed`, `s` are cut, then `e`, `y` and a doubled
/// last letter. Only ever a prefix of the word, so that nothing is allocated.
pub(super) fn stem(word: &str) -> &str {
    let mut stem = word;
    for ending in ["ies", "ing", "ied", "es", "ed", "s"] {
        if let Some(rest) = stem.strip_suffix(ending)
            && rest.len() >= if ending == "s" { 2 } else { 3 }
        {
            stem = rest;
            break;
        }
    }
    if stem.len() > 3
        && let Some(rest) = stem.strip_suffix(['e', 'y'])
    {
        stem = rest;
    }
    let mut last = stem.chars().rev();
    match (last.next(), last.next()) {
        (Some(end), Some(before)) if end == before && stem.len() > 4 && !matches!(end, 's' | 'l') => {
            &stem[..stem.len() - end.len_utf8()]
        }
        _ => stem,
    }
}

#[cfg(test)]
mod tests {
    use super::stem;

    #[test]
    fn forms_of_a_word_meet() {
        for forms in [
            ["retrieve", "retrieved", "retrieving"],
            ["query", "queries", "queried"],
            ["plan", "planned", "planning"],
            ["note", "notes", "noted"],
            ["search", "searches", "searching"],
        ] {
            let stems: Vec<&str> = forms.iter().map(|form| stem(form)).collect();
            assert!(stems.iter().all(|other| *other == stems[0]), "{stems:?}");
        }
        assert_eq!(stem("as"), "as");
    }
}
