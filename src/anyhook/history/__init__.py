"""What hooks decided: recording, importing transcripts, and searching."""
