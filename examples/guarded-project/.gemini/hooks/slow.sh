#!/usr/bin/env bash
# Waits for something that never comes, and leaves a child behind.
sleep 60 &
sleep 60
