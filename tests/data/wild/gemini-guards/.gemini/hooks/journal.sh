#!/usr/bin/env bash
# Notes each event, and stays quiet.
mkdir -p "$GEMINI_PROJECT_DIR/.gemini/journal"
cat >> "$GEMINI_PROJECT_DIR/.gemini/journal/$GEMINI_SESSION_ID.jsonl"
echo >> "$GEMINI_PROJECT_DIR/.gemini/journal/$GEMINI_SESSION_ID.jsonl"
