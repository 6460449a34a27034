// The order of the report: the answer, its reasons, how far to trust it, how to repeat it.

function render() {
  document.getElementById("report").replaceChildren();
  const parts = partsWithPointers();
  verdictCard(parts);
  const shown = RUN.command === "raw" ? "raw" : "oltp";
  parts.filter((part) => part.kind === shown).forEach(minuteView);
  worstSection();
  transactionSection(parts);
  percentileSection(parts);
  rawSection(parts);
  relationSection();
  closingSections(parts);
  watchSizeAndColours();
}

render();
