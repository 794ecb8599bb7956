//! The published JSON Schema is the one of the structs that read a policy.

#[test]
fn the_published_schema_is_true() {
    let schema = serde_json::to_value(schemars::schema_for!(foldline::policy::PolicyFile)).unwrap();
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/docs/policy.schema.json");
    if std::env::var_os("FOLDLINE_WRITE_SCHEMA").is_some() {
        std::fs::write(path, format!("{schema:#}\n")).unwrap();
    }
    let published: serde_json::Value = serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap();
    assert_eq!(published, schema, "write it anew with FOLDLINE_WRITE_SCHEMA=1");
}
