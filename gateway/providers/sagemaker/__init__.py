"""Models that people host at Amazon SageMaker's endpoints, behind servers of other formats."""
