//! Inspect: a log of samples, as one JSON document or as a zip archive (`.eval`) with one document a sample.

use super::{Sink, fallback_id};
use crate::import::session::{Builder, Compaction, Step, arguments_of, text_of};
use crate::import::source::{FileError, LeftOut, Limits, first_bytes, read_document};
use serde_json::{Value, json};
use std::fs::File;
use std::io::{BufReader, Read};
use std::path::Path;

/// Reads one log; every sample is a session.
pub(super) fn read(path: &Path, limits: Limits, left_out: &mut LeftOut, sink: Sink<'_>) -> Result<(), FileError> {
    if first_bytes(path, 4)?.starts_with(b"PK\x03\x04") {
        return read_archive(path, limits, left_out, sink);
    }
    let log: Value = read_document(path, limits)?;
    let (eval, Some(samples)) = (&log["eval"], log["samples"].as_array()) else {
        return Err(FileError::OtherKind("no eval and samples".to_owned()));
    };
    for one in samples {
        sink(sample(eval, one, &fallback_id(path), left_out));
    }
    Ok(())
}

fn read_archive(path: &Path, limits: Limits, left_out: &mut LeftOut, sink: Sink<'_>) -> Result<(), FileError> {
    let damaged = |error: zip::result::ZipError| FileError::OtherKind(format!("damaged archive: {error}"));
    let file = File::open(path).map_err(FileError::Unreadable)?;
    let mut archive = zip::ZipArchive::new(BufReader::new(file)).map_err(damaged)?;
    let eval = ["header.json", "_journal/start.json"]
        .iter()
        .find_map(|name| member(&mut archive, name, limits).ok())
        .map_or(Value::Null, |header| header["eval"].clone());
    let mut names: Vec<String> = archive
        .file_names()
        .filter_map(|name| Some(name.ok()?.into_owned()))
        .filter(|name| name.starts_with("samples/") && name.ends_with(".json"))
        .collect();
    names.sort();
    if names.is_empty() {
        return Err(FileError::OtherKind("an archive without samples".to_owned()));
    }
    for name in names {
        match member(&mut archive, &name, limits) {
            Ok(one) => sink(sample(&eval, &one, &fallback_id(path), left_out)),
            Err(error) => left_out.add("damaged sample", 1, Some(format!("{}: {name}: {error}", path.display()))),
        }
    }
    Ok(())
}

/// One document of an archive, within the file limit.
fn member(archive: &mut zip::ZipArchive<BufReader<File>>, name: &str, limits: Limits) -> Result<Value, FileError> {
    let other = |error: String| FileError::OtherKind(error);
    let member = archive.by_name(name).map_err(|error| other(error.to_string()))?;
    let mut bytes = Vec::new();
    // the stated size is the archive's own word
    member.take(limits.file_bytes + 1).read_to_end(&mut bytes).map_err(FileError::Unreadable)?;
    if bytes.len() as u64 > limits.file_bytes {
        return Err(FileError::TooLarge);
    }
    serde_json::from_slice(&bytes).map_err(|error| other(error.to_string()))
}

fn sample(eval: &Value, sample: &Value, fallback: &str, left_out: &mut LeftOut) -> crate::import::session::Session {
    let sample_id = match &sample["id"] {
        Value::String(id) => id.clone(),
        other => other.to_string(),
    };
    let run = ["eval_id", "run_id"].iter().find_map(|name| eval[*name].as_str()).unwrap_or(fallback);
    let id = match sample["uuid"].as_str() {
        Some(id) => id.to_owned(),
        None => format!("{run}/{sample_id}/{}", sample["epoch"].as_u64().unwrap_or(1)),
    };
    let mut builder = Builder::new("inspect", id);
    let task = eval["task"].as_str().unwrap_or("task");
    builder.session().task = Some(format!("{task}/{sample_id}"));
    builder.session().model = eval["model"].as_str().map(str::to_owned);
    let events = sample["events"].as_array().map_or(&[][..], Vec::as_slice);
    let attachments = &sample["attachments"];
    if events.iter().any(|event| event["event"] == "tool") {
        for event in events {
            self::event(event, attachments, &mut builder);
        }
    } else {
        left_out.add("sample without tool events, read from its messages (no compactions there)", 1, None);
        for message in sample["messages"].as_array().map_or(&[][..], Vec::as_slice) {
            self::message(message, attachments, &mut builder);
        }
    }
    builder.finish()
}

fn event(event: &Value, attachments: &Value, builder: &mut Builder) {
    match event["event"].as_str().unwrap_or("") {
        "model" => {
            let usage = &event["output"]["usage"];
            let count = |name: &str| usage[name].as_u64().unwrap_or(0);
            let prompt = count("input_tokens") + count("input_tokens_cache_read") + count("input_tokens_cache_write");
            if prompt > 0 {
                builder.request(prompt, count("output_tokens"));
            }
        }
        "tool" => {
            let request = builder.session().requests.len().checked_sub(1);
            let tool = event["function"].as_str().unwrap_or("").to_owned();
            let action = json!({"name": tool, "arguments": event["arguments"]}).to_string();
            let error = &event["error"];
            let mut observation = resolved(&event["result"], attachments);
            if observation.is_empty() {
                observation = error["message"].as_str().unwrap_or("").to_owned();
            }
            builder.step(Step { tool, action, observation, is_error: Some(!error.is_null()), tokens: None, request });
        }
        "compaction" => {
            let count = |name: &str| event[name].as_u64();
            builder.compaction(Compaction {
                tokens_before: count("tokens_before"),
                tokens_after: count("tokens_after"),
                trigger: event["type"].as_str().map(str::to_owned),
                ..Compaction::default()
            });
        }
        _ => {}
    }
}

fn message(message: &Value, attachments: &Value, builder: &mut Builder) {
    let text = |value: &Value, name: &str| value[name].as_str().unwrap_or("").to_owned();
    match message["role"].as_str().unwrap_or("") {
        "assistant" => {
            for call in message["tool_calls"].as_array().map_or(&[][..], Vec::as_slice) {
                builder.call_before_its_request(
                    &text(call, "id"),
                    &text(call, "function"),
                    &arguments_of(call.get("arguments")),
                );
            }
        }
        "tool" => {
            let error = &message["error"];
            let observation = resolved(&message["content"], attachments);
            builder.result(&text(message, "tool_call_id"), observation, Some(!error.is_null()));
        }
        _ => {}
    }
}

/// The text of a result; long texts stand once in the sample's attachments.
fn resolved(value: &Value, attachments: &Value) -> String {
    let text = text_of(value);
    match text.strip_prefix("attachment://").and_then(|hash| attachments[hash].as_str()) {
        Some(attachment) => attachment.to_owned(),
        None => text,
    }
}
