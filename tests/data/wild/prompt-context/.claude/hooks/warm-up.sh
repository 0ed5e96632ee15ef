echo "Cleared; the plan is in PLAN.md"
exit 0
