//! A reader of HTML just good enough for our own pages.

/// Text with its character references resolved.
pub fn unescaped(text: &str) -> String {
    let mut out = text.to_owned();
    for (reference, character) in [
        ("&lt;", "<"),
        ("&gt;", ">"),
        ("&quot;", "\""),
        ("&#x27;", "'"),
        ("&#39;", "'"),
        ("&#x2f;", "/"),
        ("&amp;", "&"),
    ] {
        out = out.replace(reference, character);
    }
    out
}

/// Everything between `open` and `close`, in order.
pub fn between<'a>(page: &'a str, open: &str, close: &str) -> Vec<&'a str> {
    page.split(open).skip(1).filter_map(|rest| rest.split(close).next()).collect()
}

/// The page without every element that starts with `open` and ends with `close`.
pub fn without(page: &str, open: &str, close: &str) -> String {
    let mut out = String::new();
    let mut rest = page;
    while let Some(start) = rest.find(open) {
        out.push_str(&rest[..start]);
        out.push(' ');
        let inside = &rest[start + open.len()..];
        rest = inside.find(close).map_or("", |end| &inside[end + close.len()..]);
    }
    out + rest
}

/// The words that a reader sees, tags taken out.
pub fn visible(page: &str) -> String {
    let mut out = String::new();
    let mut inside = false;
    for c in page.chars() {
        match c {
            '<' => inside = true,
            '>' => {
                inside = false;
                out.push(' ');
            }
            c if !inside => out.push(c),
            _ => {}
        }
    }
    unescaped(&out)
}
