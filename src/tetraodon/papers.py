"""The documents this package implements, by the keys that docstrings cite."""

from __future__ import annotations

from typing import Final

PAPERS: Final = {
    "KM12": "D. Kifer and A. Machanavajjhala. A rigorous and customizable framework for privacy. PODS 2012.",
    "HMD14": "X. He, A. Machanavajjhala and B. Ding. Blowfish privacy: tuning privacy-utility trade-offs using "
    "policies. SIGMOD 2014.",
    "HMD16": "S. Haney, A. Machanavajjhala and B. Ding. Design of policy-aware differentially private algorithms. "
    "PVLDB 9(4), 2015, VLDB 2016.",
    "MK15": "A. Machanavajjhala and D. Kifer. Designing statistical privacy for your data. CACM 58(3), 2015.",
    "RS07": "V. Rastogi, D. Suciu and S. Hong. The boundary between privacy and utility in data publishing. VLDB 2007.",
    "CL68": "C. K. Chow and C. N. Liu. Approximating discrete probability distributions with dependence trees. IEEE "
    "Transactions on Information Theory 14(3), 1968.",
    "DN03": "I. Dinur and K. Nissim. Revealing information while preserving privacy. PODS 2003.",
    "WFWP07": "R. C.-W. Wong, A. W.-C. Fu, K. Wang and J. Pei. Minimality attack in privacy preserving data "
    "publishing. VLDB 2007.",
    "Mir12": "I. Mironov. On significance of the least significant bits for differential privacy. CCS 2012.",
    "SWC17": "S. Song, Y. Wang and K. Chaudhuri. Pufferfish privacy mechanisms for correlated data. SIGMOD 2017.",
    "GV14": "Q. Geng and P. Viswanath. The optimal mechanism in differential privacy. ISIT 2014.",
    "ZOC22": "W. Zhang, O. Ohrimenko and R. Cummings. Attribute privacy: framework and mechanisms. FAccT 2022.",
    "BS16": "M. Bun and T. Steinke. Concentrated differential privacy: simplifications, extensions, and lower bounds. "
    "TCC 2016.",
    "FZ21": "V. Feldman and T. Zrnic. Individual privacy accounting via a Renyi filter. NeurIPS 2021.",
    "WRRW23": "J. Whitehouse, A. Ramdas, R. Rogers and Z. S. Wu. Fully-adaptive composition in differential privacy. "
    "ICML 2023.",
    "CKS20": "C. L. Canonne, G. Kamath and T. Steinke. The discrete Gaussian for differential privacy. "
    "arXiv 2004.00010, 2020.",
    "MMHM18": "R. McKenna, G. Miklau, M. Hay and A. Machanavajjhala. Optimizing error of high-dimensional statistical "
    "queries under differential privacy. VLDB 2018.",
    "XHZK23": "Y. Xiao, G. He, D. Zhang and D. Kifer. An optimal and scalable matrix mechanism for noisy marginals "
    "under convex loss functions. NeurIPS 2023.",
    "CR21": "M. Cesar and R. Rogers. Bounding, concentrating, and truncating: unifying privacy loss composition for "
    "data analytics. ALT 2021.",
    "MMSM22": "R. McKenna, B. Mullins, D. Sheldon and G. Miklau. AIM: an adaptive and iterative mechanism for "
    "differentially private synthetic data. PVLDB 15(11), 2022.",
    "MSM19": "R. McKenna, D. Sheldon and G. Miklau. Graphical-model based estimation and inference for differential "
    "privacy. ICML 2019.",
    "PBTB24": "C. Pierquin, A. Bellet, M. Tommasi and M. Boussard. Rényi Pufferfish privacy: general additive noise "
    "mechanisms and privacy amplification by iteration via shift reduction lemmas. ICML 2024.",
    "GK17": "A. Ghosh and R. Kleinberg. Inferential privacy guarantees for differentially private mechanisms. "
    "ITCS 2017.",
    "GJK21": "J. Gillenwater, M. Joseph and A. Kulesza. Differentially private quantiles. ICML 2021.",
    "LHM14": "C. Li, M. Hay and G. Miklau. A data- and workload-aware algorithm for range queries under differential "
    "privacy. PVLDB 7(5), 2014.",
    "QYL13": "W. Qardaji, W. Yang and N. Li. Differentially private grids for geospatial data. ICDE 2013.",
    "ZXX16": "J. Zhang, X. Xiao and X. Xie. PrivTree: a differentially private algorithm for hierarchical "
    "decompositions. SIGMOD 2016.",
    "DVGM22": "D. Desfontaines, J. Voss, B. Gipson and C. Mandayam. Differentially private partition selection. "
    "PoPETs 2022(1).",
}
"""Where a paper and mathematics disagree, mathematics wins: see the page on errata in the documentation."""
