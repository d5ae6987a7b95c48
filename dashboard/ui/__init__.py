"""What pages are drawn with: charts, periods, questions."""
